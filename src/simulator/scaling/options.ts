import { type FieldValues, integer, number } from '../calls/fields.ts';
import type { ScalingOptions } from '../tables/endpoint-groups.ts';

/** Maximum load and time: larger ones are implausible, and their sums would be no valid numbers. */
export const MAX_WORK = 1e12;

/** An option of specification 4.9: its default and its valid values. */
interface OptionRule {
  readonly fallback: number;
  readonly field: typeof number;
}

function option(fallback: number, min: number, max: number, { isWhole } = { isWhole: false }): OptionRule {
  const kind = isWhole ? 'a whole number' : 'a number';
  const field = number.refine(
    (value) => value === undefined || (value >= min && value <= max && (!isWhole || Number.isInteger(value))),
    { error: `must be ${kind} from ${min} to ${max}.`, params: { code: 'invalid_args' } },
  );
  return { fallback, field };
}

/** Defaults of specification 4.9; clients send null for the queue times, so the server applies them. */
const OPTIONS: Readonly<Record<Exclude<keyof ScalingOptions, 'inactivity_timeout'>, OptionRule>> = {
  min_load: option(0, 0, MAX_WORK),
  min_cold_load: option(0, 0, MAX_WORK),
  target_util: option(0.9, 0.01, 1),
  cold_mult: option(2.5, 0, MAX_WORK),
  cold_workers: option(5, 0, 10_000, { isWhole: true }),
  max_workers: option(20, 0, 10_000, { isWhole: true }),
  max_queue_time: option(30, 0.1, MAX_WORK),
  target_queue_time: option(10, 0.1, MAX_WORK),
};

const entries = Object.entries(OPTIONS);

/** The fields of a body that are options. */
export const SCALING = {
  ...Object.fromEntries(entries.map(([name, { field }]) => [name, field])),
  inactivity_timeout: integer,
} as Readonly<Record<keyof ScalingOptions, typeof number>>;

/** Default options of a group. */
export const defaultOptions = {
  ...Object.fromEntries(entries.map(([name, { fallback }]) => [name, fallback])),
  inactivity_timeout: null,
} as ScalingOptions;

/** Returns the options of a body merged with the present ones: null and absent keep. */
export function readOptions(body: FieldValues<typeof SCALING>, current: ScalingOptions): ScalingOptions {
  const names = Object.keys(SCALING) as readonly (keyof ScalingOptions)[];
  const options = names.map((name) => [name, body[name] ?? current[name]] as const);
  return { ...current, ...Object.fromEntries(options) };
}
