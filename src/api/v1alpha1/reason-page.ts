import { type Reason, reasons } from './reasons.ts';

/** The folder of the reasons' pages, for people who have nothing but a message. */
const PAGES = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reasons';

/** The file name of a reason's page: what it means, what to look at, what to do. */
export function reasonFile(reason: string): string {
  return `${reason.toLowerCase()}.md`;
}

interface Spoken {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that people read first. */
const LEADING = ['Ready', 'Stalled'];

/** The condition with the address of its reason's page, where something is wrong and people look first. */
export function withPage<Condition extends Spoken>(condition: Condition): Condition {
  const { type, reason, message } = condition;
  if (!LEADING.includes(type) || !isTrouble(reason)) return condition;
  return { ...condition, message: `${message} See ${PAGES}/${reasonFile(reason)}` };
}

function isTrouble(reason: string): boolean {
  if (!Object.hasOwn(reasons, reason)) return false;
  const { kind } = reasons[reason as Reason];
  return kind === 'terminal' || kind === 'retryable';
}
