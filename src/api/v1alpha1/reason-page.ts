import { type Reason, reasons } from './reasons.ts';

/** The page of all reasons, for people who have nothing but a message. */
const PAGE = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference/reasons.md';

/** The fragment of a reason's section: what it means, what to look at, what to do. */
export function reasonAnchor(reason: string): string {
  return `#${reason.toLowerCase()}`;
}

interface Spoken {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that people read first. */
const LEADING = ['Ready', 'Stalled'];

/** The condition with the link to its reason's section, if something is wrong and people look there first. */
export function withPage<Condition extends Spoken>(condition: Condition): Condition {
  const { type, reason, message } = condition;
  if (!LEADING.includes(type) || !isTrouble(reason)) return condition;
  return { ...condition, message: `${message} See ${PAGE}${reasonAnchor(reason)}` };
}

function isTrouble(reason: string): boolean {
  if (!Object.hasOwn(reasons, reason)) return false;
  const { kind } = reasons[reason as Reason];
  return kind === 'terminal' || kind === 'retryable';
}
