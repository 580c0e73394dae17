import { isObject } from '../memory-kube/json.ts';

/** Most that one object may have sent for its machine: what one object needs is held in the memory of all. */
export const MAX_INPUT_BYTES = 65_536;

/** Returns the bytes of environment and script in the body of a rent call. */
export function inputBytes(body: string): number {
  const sent: unknown = JSON.parse(body);
  if (!isObject(sent)) return 0;
  const env = isObject(sent['env']) ? Object.entries(sent['env']) : [];
  const bytes = (text: unknown) => Buffer.byteLength(typeof text === 'string' ? text : '');
  return env.reduce((sum, [name, value]) => sum + bytes(name) + bytes(value), bytes(sent['onstart']));
}
