import type { z } from 'zod';
import { MarketplaceError } from '../errors/errors.ts';
import { changeReply } from '../wire/failure-body.ts';
import type { Call, Requester } from './request.ts';

/** What every change answers. */
export interface ChangeAnswer {
  /** Epoch milliseconds of the reply's `Date`, on the service's clock. */
  readonly answeredAt: number | undefined;
  /** The service's own text, for a person at the command line only. */
  readonly message: string | undefined;
}

/** A change as a call, without what is the same for all changes. */
export type Change = Omit<Call<z.ZodType>, 'effect' | 'reply'>;

/** Sends a write whose reply says nothing but how it went. It leaves at most once. */
export async function sendChange(requester: Requester, change: Change): Promise<ChangeAnswer> {
  const { value, answeredAt } = await requester.send({ ...change, effect: 'write', reply: changeReply });
  return { answeredAt, message: value.msg };
}

/** An id as a step of a path. Rejects anything that is no identifier before it reaches an address. */
export function pathId(id: number): string {
  if (Number.isSafeInteger(id) && id >= 0) return String(id);
  throw new MarketplaceError(`an id must be a whole number of at least 0, not ${id}`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}
