import { integerField, numberField } from '../calls/fields.ts';
import { Refusal } from '../calls/refusal.ts';
import type { JsonObject } from '../json.ts';
import type { ScalingOptions } from '../tables/endpoint-groups.ts';

/** An option of specification 4.9: its default and the values it takes. */
interface OptionRule {
  readonly name: Exclude<keyof ScalingOptions, 'inactivity_timeout'>;
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
}

/** Loads and times beyond are no figures of a machine, and their sums would be no numbers. */
export const MAX_WORK = 1e12;

/** Defaults of specification 4.9; clients send null for the queue times, so the server applies them. */
const OPTIONS: readonly OptionRule[] = [
  { name: 'min_load', fallback: 0, min: 0, max: MAX_WORK, isWhole: false },
  { name: 'min_cold_load', fallback: 0, min: 0, max: MAX_WORK, isWhole: false },
  { name: 'target_util', fallback: 0.9, min: 0.01, max: 1, isWhole: false },
  { name: 'cold_mult', fallback: 2.5, min: 0, max: MAX_WORK, isWhole: false },
  { name: 'cold_workers', fallback: 5, min: 0, max: 10_000, isWhole: true },
  { name: 'max_workers', fallback: 20, min: 0, max: 10_000, isWhole: true },
  { name: 'max_queue_time', fallback: 30, min: 0.1, max: MAX_WORK, isWhole: false },
  { name: 'target_queue_time', fallback: 10, min: 0.1, max: MAX_WORK, isWhole: false },
];

/** What a group starts with if nothing is given. */
export const defaultOptions = {
  ...Object.fromEntries(OPTIONS.map(({ name, fallback }) => [name, fallback])),
  inactivity_timeout: null,
} as ScalingOptions;

/** The options of a body over those there are: null and absent keep. */
export function readOptions(body: JsonObject, current: ScalingOptions): ScalingOptions {
  const changed = OPTIONS.map((rule) => [rule.name, readOption(body, rule) ?? current[rule.name]] as const);
  const timeout = integerField(body, 'inactivity_timeout') ?? current.inactivity_timeout;
  return { ...current, ...Object.fromEntries(changed), inactivity_timeout: timeout };
}

function readOption(body: JsonObject, rule: OptionRule): number | undefined {
  const value = numberField(body, rule.name);
  if (value === undefined) return undefined;
  if (value >= rule.min && value <= rule.max && (!rule.isWhole || Number.isInteger(value))) return value;
  const kind = rule.isWhole ? 'a whole number' : 'a number';
  throw new Refusal(400, 'invalid_args', `${rule.name} must be ${kind} from ${rule.min} to ${rule.max}.`);
}
