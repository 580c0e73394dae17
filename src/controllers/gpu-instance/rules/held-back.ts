import { annotations } from '../../../api/v1alpha1/names.ts';
import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { type Finding, say } from '../conditions.ts';
import { decision } from '../decision.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Decision, Observed } from '../types.ts';
import { type EndWish, whyOf } from './end-wish.ts';

/** The first thing that forbids to end this machine now. */
export function heldBack(observed: Observed, wish: EndWish): Decision | undefined {
  const { object, account } = observed;
  const says = (reason: Reason, detail?: string) => holding(observed, wish, { reason, detail });
  if (object.metadata.annotations?.[annotations.hold] !== undefined) return says('Held');
  if (wish.kind === 'limit') return undefined;
  if (object.spec.paused) return says('Paused');
  if (wish.kind === 'lost' && object.spec.replacement.policy === 'Never')
    return says('ReplacementOff', wish.detail);
  if (account.state !== 'ready') return says('AccountNotReady');
  if (account.facts.breaker.type === 'open') return says('BreakerOpen', account.facts.breaker.message);
  return undefined;
}

interface HeldBackBy {
  readonly reason: Reason;
  readonly detail: string | undefined;
}

function holding(observed: Observed, wish: EndWish, by: HeldBackBy): Decision {
  const phase = wish.kind === 'lost' ? 'Lost' : 'Running';
  const common = { phase, machine: wish.finding, budget: excess(wish) } as const;
  return decision({
    fields: carriedFields(observed),
    finding: { ...common, ...(whileItWorks(observed, wish, by) ?? by) },
    look: { afterMs: 60_000 },
  });
}

/** One that works stays as ready as it is and says what it waits for, or nobody would send it work meanwhile. */
function whileItWorks(
  { probe }: Observed,
  wish: EndWish,
  { reason, detail }: HeldBackBy,
): Pick<Finding, 'reason' | 'detail' | 'ready' | 'atWork'> | undefined {
  if (wish.kind !== 'unwanted' || wish.finding.type !== 'running') return undefined;
  const why = whyOf(wish);
  const { reachable } = wish.finding;
  return reachable.status === 'True'
    ? { reason: 'Ready', ready: true, detail: `${why} ${say('True', reason, detail).message}` }
    : {
        reason: reachable.reason,
        detail: probe?.detail,
        atWork: { reason, detail: `${why} ${detail ?? reasons[reason].sentence}` },
      };
}

/** The limit or price that the machine is to end for: it is exceeded, whatever holds the end back. */
function excess(wish: EndWish): Finding['budget'] {
  const { reason } = wish;
  return reason === 'LimitReached' || reason === 'PriceRaised' ? { reason, detail: whyOf(wish) } : undefined;
}
