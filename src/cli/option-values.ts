import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseDuration } from '../lib/time.ts';
import type { MarketplaceId } from '../market/ids.ts';
import { toId } from '../markets/vast/ids.ts';
import type { OptionValues } from './command.ts';
import { usageError } from './command-error.ts';

/** Returns the name under which commander keeps the value of a long flag: `--dry-run` is `dryRun`. */
export function optionName(flag: string): string {
  return flag.replace(/^--(no-)?/, '').replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the text of an option; undefined if it was not given. */
export function textOption(options: OptionValues, flag: string): string | undefined {
  const value = options[optionName(flag)];
  return typeof value === 'string' ? value : undefined;
}

/** Returns true if a switch was given. */
export function switchOption(options: OptionValues, flag: string): boolean {
  return options[optionName(flag)] === true;
}

/** Returns every use of a repeatable option. */
export function listOption(options: OptionValues, flag: string): readonly string[] {
  const value = options[optionName(flag)];
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Returns the words of an option that takes the rest of the line; undefined if it was not given. */
export function restOption(options: OptionValues, flag: string): readonly string[] | undefined {
  return options[optionName(flag)] === undefined ? undefined : listOption(options, flag);
}

/** Range of an option's number. */
export interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
  readonly whole?: boolean;
  /** Advice for any other text. */
  readonly remedy?: string | undefined;
}

/** Returns the number of an option. Throws a usage error with the flag and the accepted range for anything else. */
export function numberOption(
  options: OptionValues,
  flag: string,
  bounds: NumberBounds = {},
): number | undefined {
  const text = textOption(options, flag);
  return text === undefined ? undefined : parseNumber(text, flag, bounds);
}

/** Reads a number within bounds. Throws a usage error that names `name`, the flag or argument, for anything else. */
export function parseNumber(
  text: string,
  name: string,
  { min, max, whole, remedy }: NumberBounds = {},
): number {
  const value = /^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(text.trim()) ? Number(text) : Number.NaN;
  const fits =
    Number.isFinite(value) &&
    (!whole || Number.isSafeInteger(value)) &&
    value >= (min ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? Number.POSITIVE_INFINITY);
  if (fits) return value;
  throw usageError(`${name}: "${text}" is not ${described({ min, max, whole })}.`, remedy);
}

function described({
  min,
  max,
  whole,
}: { [Key in keyof NumberBounds]: NumberBounds[Key] | undefined }): string {
  const kind = whole ? 'a whole number' : 'a number';
  if (min !== undefined && max !== undefined) return `${kind} from ${min} to ${max}`;
  if (min !== undefined) return `${kind} of at least ${min}`;
  return max === undefined ? kind : `${kind} of at most ${max}`;
}

/** Returns an id of the marketplace: a bare integer. Throws a usage error for anything else. */
export function parseId(text: string | undefined, what: string): MarketplaceId {
  const remedy = remedyOfId(what);
  if (text === undefined) throw usageError(`${what}: an id is missing.`, remedy);
  return toId(parseNumber(text, what, { min: 0, whole: true, remedy }));
}

/** Commands that show ids, if they differ from `list` and the plural. */
const SHOWN_BY: Readonly<Record<string, string>> = {
  offer: 'search offers',
  'volume offer': 'search volumes',
  method: 'tfa status',
  '--method-id': 'tfa status',
  '--volume': 'list volumes',
  instance: 'list instances',
};

/** `what` is a noun of the command line, or a flag. */
function remedyOfId(what: string): string | undefined {
  const command =
    SHOWN_BY[what] ?? (/^[a-z-]+[a-z]$/.test(what) && !what.startsWith('-') ? `list ${what}s` : undefined);
  return command === undefined ? undefined : `gpu-rent ${command} shows the ids.`;
}

/** Returns the ids of the marketplace, each once. Throws a usage error if there is none or one is not an integer. */
export function parseIds(texts: readonly string[], what: string): readonly MarketplaceId[] {
  if (texts.length === 0) throw usageError(`${what}: give at least one id.`);
  return [...new Set(texts.map((text) => parseId(text, what)))];
}

/**
 * Milliseconds of a time such as `30s` or `5m`. Throws a usage error that names `name`, the flag, for any other text: a
 * bare number is refused, since 48 can mean seconds and hours.
 */
export function parseTime(text: string, name: string): number {
  const milliseconds = durationOf(text);
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds;
  if (/^\d+(\.\d+)?$/.test(text))
    throw usageError(`${name}: "${text}" has no unit.`, `Write ${text}s, ${text}m or ${text}h.`);
  throw usageError(`${name}: "${text}" is not a time such as 30s, 5m or 1h30m.`);
}

function durationOf(text: string): number | undefined {
  return /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text) ? parseDuration(text) : undefined;
}

/** Returns the timeout of one request in milliseconds; undefined if `--request-timeout` was not given. */
export function requestTimeout(options: OptionValues): number | undefined {
  const text = textOption(options, '--request-timeout');
  return text === undefined ? undefined : parseTime(text, '--request-timeout');
}

/** Returns an amount in dollars given as an option. */
export function dollarsOption(options: OptionValues, flag: string): MicroDollars | undefined {
  const text = textOption(options, flag);
  return text === undefined ? undefined : parseAmount(text, flag);
}

const POSITIVE = 'Write a positive amount of dollars such as 0.45.';

/**
 * Reads a positive amount of dollars. Throws a usage error that names `name`, the flag or argument, for any other text: a
 * price or cost of 0 matches no offer.
 */
export function parseAmount(text: string, name: string): MicroDollars {
  const amount = parseDollars(text.replace(/^\$/, ''));
  if (amount === undefined && /^\$?-/.test(text))
    throw usageError(`${name}: "${text}" is below zero.`, POSITIVE);
  if (amount === 0) throw usageError(`${name}: "${text}" is zero.`, POSITIVE);
  if (amount === undefined) throw usageError(`${name}: "${text}" is not an amount of dollars such as 0.45.`);
  return amount;
}
