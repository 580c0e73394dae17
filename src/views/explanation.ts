import * as z from 'zod';
import { autoscalingTerms } from '../api/v1alpha1/endpoint-group.ts';
import { ageText } from './amounts.ts';

const condition = {
  phase: z.string().optional(),
  ready: z.string().describe('Status of the condition `Ready`.'),
  reason: z.string().describe('Its [reason](reasons.md).'),
  message: z.string(),
};

const decisionRowSchema = z.strictObject({
  source: z.literal('decision').describe('The operator would decide this now.'),
  unchecked: z.array(z.string()).readonly().describe('Checks that the caller has no rights for.'),
  forecast: z
    .strictObject({ inSeconds: z.number(), actions: z.array(z.string()).readonly() })
    .optional()
    .describe('The next actions that follow from time alone.'),
  stage: z.string().describe('State of the rental.'),
  rule: z.string().describe('The rule that decided.'),
  because: z.string().describe('Its reason.'),
  reads: z.array(z.string()).readonly().describe('Reads that the rules requested.'),
  records: z.string().describe('Kind of the record that is written before the actions.'),
  actions: z.array(z.string()).readonly(),
  condition: z
    .strictObject({ ...condition, replacementBlocked: z.string().optional() })
    .optional()
    .describe('Conditions that the status would have.'),
  events: z.array(z.strictObject({ reason: z.string(), note: z.string() })).readonly(),
  next: z.string(),
});

const statusRowSchema = z.strictObject({
  source: z.literal('status').describe('The marketplace does not answer; the last status of the operator.'),
  problem: z.string(),
  stage: z.string(),
  condition: z.strictObject(condition).optional(),
  reportedAt: z.string().optional(),
  next: z.string(),
});

/** The decision that the operator would make now, as data. */
export type DecisionRow = z.infer<typeof decisionRowSchema>;
/** Last status of the operator during an outage of the marketplace. */
export type StatusRow = z.infer<typeof statusRowSchema>;

const record = z.record(z.string(), z.unknown()).describe('Internal record of the operator.');
const ofInstance = { object: z.string().describe('`gpui/NAME`.'), record };

export const instanceExplanationSchema = z.discriminatedUnion('source', [
  decisionRowSchema.extend(ofInstance),
  statusRowSchema.extend(ofInstance),
]);

export const groupExplanationSchema = z.strictObject({
  object: z.string().describe('`epg/NAME`.'),
  autoscaling: autoscalingTerms.optional().describe('Terms of the last scaling decision.'),
  lines: z.array(z.string()).readonly().describe('The same in words.'),
  record,
});

/** Returns one line for each key of the record. */
export function recordText(record: Readonly<Record<string, unknown>>): string {
  const keys = Object.entries(record).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `  ${`${key}:`.padEnd(19)} ${text}\n`;
  });
  return keys.length === 0 ? '' : `\nRecord:\n${keys.join('')}`;
}

/** Returns the decision, or the last status, as text. */
export function explanationText(row: DecisionRow | StatusRow): string {
  const { condition, stage, next } = row;
  const reported =
    condition && `${condition.phase}; Ready ${condition.ready}, ${condition.reason}: ${condition.message}`;
  const facts: readonly (readonly [string, string | undefined])[] =
    row.source === 'status'
      ? [
          ['Unknown', `${row.problem} This is what the operator reported last.`],
          ['Stage', stage],
          ['Reported', reported && `${reported} (since ${row.reportedAt})`],
          ['Then', next],
        ]
      : [
          ['Stage', stage],
          ['Rule', row.rule || '(no rule was needed)'],
          ['Because', row.because || undefined],
          ['Read', row.reads.length > 0 ? tallied(row.reads).join(', ') : undefined],
          ['Would set', reported],
          ['Blocked', row.condition?.replacementBlocked],
          ['Would do', row.actions.length > 0 ? row.actions.join('; ') : 'nothing'],
          ['Next', row.forecast && forecastText(row.forecast)],
          ['Then', next],
          ['Unchecked', row.unchecked.join('; ') || undefined],
        ];
  return facts
    .flatMap(([label, text]) => (text === undefined ? [] : [`${`${label}:`.padEnd(11)} ${text}\n`]))
    .join('');
}

function forecastText({ inSeconds, actions }: NonNullable<DecisionRow['forecast']>) {
  return `in ${ageText(inSeconds * 1000)}: ${actions.join('; ')}, unless the marketplace shows something else until then`;
}

/** Returns `offers (2 times)` for a repeated read, in the order of the first reads. */
function tallied(texts: readonly string[]): readonly string[] {
  return [...Map.groupBy(texts, (text) => text)].map(([text, { length }]) =>
    length === 1 ? text : `${text} (${length} times)`,
  );
}
