import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import type { OptionValues } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { textOption } from '../options/option-values.ts';

/** Micro-dollars as the number of dollars that JSON shows. */
export function inDollars(amount: MicroDollars | undefined): number | undefined {
  return amount === undefined ? undefined : amount / 1_000_000;
}

/** A number of dollars for people: `$0.42`; four digits below a cent. */
export function dollarText(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  const sign = dollars < 0 ? '-' : '';
  const amount = Math.abs(dollars);
  return `${sign}$${amount.toFixed(amount !== 0 && amount < 0.1 ? 4 : 2)}`;
}

/** A price of an hour in dollars for people, in four digits: `$0.2997`, since offers differ in the third. */
export function hourlyText(dollars: number | undefined): string | undefined {
  return dollars === undefined ? undefined : `${dollars < 0 ? '-' : ''}$${Math.abs(dollars).toFixed(4)}`;
}

/** Micro-dollars for people, with every digit that they have. */
export function exactDollars(amount: MicroDollars): string {
  return `$${formatDollars(amount)}`;
}

/** An amount in dollars given as an option. */
export function dollarsOption(options: OptionValues, flag: string): MicroDollars | undefined {
  const text = textOption(options, flag);
  return text === undefined ? undefined : parseAmount(text, flag);
}

/** Reads an amount of dollars. Throws a usage error that names `name`, the flag or argument, for any other text. */
export function parseAmount(text: string, name: string): MicroDollars {
  const amount = parseDollars(text.replace(/^\$/, ''));
  if (amount === undefined) throw usageError(`${name}: "${text}" is not an amount of dollars such as 0.45.`);
  return amount;
}

/** Decimal megabytes in whole gigabytes that are there, so that a requirement may ask for what is shown: 24,564 are `24G`. */
export function gigabytes(megabytes: number | undefined): string | undefined {
  return megabytes === undefined ? undefined : `${Math.floor(megabytes / 1000)}G`;
}

/** `1 key`, `2 keys`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** A span as kubectl shows ages: its two largest units at most. */
export function ageText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60 ? `${seconds % 60}s` : ''}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${minutes % 60 ? `${minutes % 60}m` : ''}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 && hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
}

/** An epoch time in ISO 8601 seconds, undefined if there is none. */
export function timeText(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
