import type { TransportResponse } from '../../../src/lib/transport.ts';
import { type Address, targetOf } from './address.ts';
import { detailsOf } from './failure.ts';
import { type JsonObject, metadataOf, textOf } from './json.ts';

/** One object as the whole body. */
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

/** What is gone at once is not shown again; what finalizers hold is. */
export const removed = (address: Address, object: JsonObject): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { ...detailsOf(targetOf(address)), uid: metadataOf(object)['uid'] },
});
