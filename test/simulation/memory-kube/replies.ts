import type { TransportResponse } from '../../../src/lib/transport.ts';
import { type Address, targetOf } from './address.ts';
import { detailsOf } from './failure.ts';
import { type JsonObject, metadataOf, textOf } from './json.ts';

/** Returns a response whose body is one object. */
export const reply = (status: number, body: JsonObject): TransportResponse => replyText(status, textOf(body));

export function replyText(status: number, text: string): TransportResponse {
  const bytes = Buffer.from(text);
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield bytes;
    })(),
    destroy() {},
  };
}

/** Returns the body of a deletion: a Status if the object is gone; objects with finalizers are returned as they are. */
export const removed = (address: Address, object: JsonObject): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { ...detailsOf(targetOf(address)), uid: metadataOf(object)['uid'] },
});
