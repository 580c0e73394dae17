import type { TransportRequest } from '../../../src/lib/transport.ts';

const INSTANCE_PATH = /^\/api\/v0\/instances\/([1-9]\d*)\/$/;
const STARTS = /"state":"running"/;

/** Returns the machine that a call starts; undefined if the call is another one. */
export function startedMachine({ method, path, body = '' }: TransportRequest): number | undefined {
  const id = method === 'PUT' && STARTS.test(body) ? INSTANCE_PATH.exec(path)?.[1] : undefined;
  return id === undefined ? undefined : Number(id);
}
