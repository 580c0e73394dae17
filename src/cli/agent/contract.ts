import * as z from 'zod';
import { isReason, reasons } from '../../api/v1alpha1/reasons.ts';

interface ServerReason {
  readonly sentence: string;
  /** True if the same call may succeed later without a change. */
  readonly retryable: boolean;
}

/** Reasons of the agents' server itself. Every other reason of a result is from the catalogue of conditions. */
export const serverReasons = {
  Planned: { retryable: false, sentence: 'A machine could be rented as described. Nothing was created.' },
  Listed: { retryable: false, sentence: 'The call lists what exists.' },
  LogShown: { retryable: false, sentence: 'The end of the log is in data.log, as data.' },
  Ending: {
    retryable: false,
    sentence: 'The operator destroys the machine; the object stays as its record.',
  },
  Unseen: { retryable: true, sentence: 'The operator has not seen the object yet.' },
  InvalidArguments: { retryable: false, sentence: 'The arguments do not fit the schema of the tool.' },
  UnknownTool: { retryable: false, sentence: 'The server has no tool of this name.' },
  NotFound: {
    retryable: false,
    sentence: 'This agent has created no object of this name in the namespace of the server.',
  },
  KeyInUse: {
    retryable: false,
    sentence:
      'The idempotencyKey names an object with other arguments, or one that this agent did not create.',
  },
  Ended: {
    retryable: false,
    sentence: 'The object of this idempotencyKey has ended; its key is not reused.',
  },
  AtServerLimit: {
    retryable: false,
    sentence: 'A limit of the server, --max-total or --max-machines, leaves no room.',
  },
  Kept: {
    retryable: false,
    sentence: 'Only a person may end this machine: its policy keeps it, or it belongs to a group.',
  },
  NoLog: { retryable: true, sentence: 'The object has no log yet, or the server may not read it.' },
  Busy: { retryable: true, sentence: 'Too many calls at once; nothing was done.' },
  ClusterUnreachable: {
    retryable: true,
    sentence: 'The Kubernetes API server does not answer; the call may have taken effect.',
  },
  Failed: { retryable: false, sentence: 'The call failed for another cause, which the message names.' },
} as const satisfies Record<string, ServerReason>;

export type OwnReason = keyof typeof serverReasons;

/** The tools of the server. */
export const TOOL_NAMES = ['plan', 'run', 'job', 'status', 'logs', 'stop', 'cost', 'list_gpus'] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

const dollarText = z.string().nullable();

/** Result of every call, refused or not. */
export const outcomeSchema = z.strictObject({
  ok: z.boolean().describe('True if the call took effect, or its answer is complete.'),
  reason: z.string().describe('One word, from the catalogue of reasons or from those of this server.'),
  message: z.string().describe('Event, its cause with figures, and advice.'),
  retryable: z.boolean().describe('True if the same call may succeed later without a change.'),
  retryAfterSeconds: z.number().int().min(1).optional().describe('Wait this long before a repetition.'),
  nextAction: z
    .strictObject({ tool: z.enum(TOOL_NAMES), arguments: z.record(z.string(), z.unknown()) })
    .nullable()
    .describe('The next useful call; null if only a person, or another decision of the caller, helps.'),
  costNow: z
    .strictObject({
      perHour: dollarText.describe("Dollars per hour of this agent's machines; null if unknown."),
      total: dollarText.describe('Dollars that they have cost so far; null if unknown.'),
      budgetLeft: dollarText.describe(
        'Dollars that may still be promised by maxCost, under --max-total and the SpendBudgets; null if unknown.',
      ),
    })
    .describe('Money at the time of the answer.'),
  data: z.unknown().optional().describe('Result of the tool in full.'),
});

export type Outcome = z.infer<typeof outcomeSchema>;
export type NextAction = Outcome['nextAction'];
export type CostNow = Outcome['costNow'];

/** Result of a tool before the money is added. */
export type Answer = Omit<Outcome, 'costNow' | 'retryable'>;

export const UNKNOWN_COST: CostNow = { perHour: null, total: null, budgetLeft: null };

/** Returns true if the same call may succeed later: by the server's table, else by the kind of the reason. */
export function isRetryable(reason: string): boolean {
  if (Object.hasOwn(serverReasons, reason)) return serverReasons[reason as OwnReason].retryable;
  if (!isReason(reason)) return false;
  const { kind } = reasons[reason];
  return kind === 'retryable' || kind === 'progress';
}

/** Returns a refusal. The reason decides whether it is retryable. */
export function refusal(
  reason: string,
  message: string,
  more: {
    readonly nextAction?: NextAction;
    readonly retryAfterSeconds?: number;
    readonly data?: unknown;
  } = {},
): Answer {
  return { ok: false, reason, message, nextAction: null, ...more };
}
