import type { StartDecision, TicketDecision, TicketRefusal } from '../../accounts/tickets/tickets.ts';

/** Why an account has no room, where that is worth a word. */
export interface LastingRefusal {
  readonly reason: Exclude<TicketRefusal, 'Queued' | 'OfferReserved'>;
  readonly message: string;
  readonly retryAfterMs: number;
}

/** The refusal of an account; undefined where it has room, or will have within seconds. */
export function lasting(answer: TicketDecision | StartDecision): LastingRefusal | undefined {
  if (answer.type !== 'refused') return undefined;
  const { reason, message, retryAfterMs } = answer;
  if (reason === 'Queued' || reason === 'OfferReserved') return undefined;
  return { reason, message, retryAfterMs };
}
