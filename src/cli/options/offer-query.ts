import type { OfferFilter, OfferOrder } from '../../market/offer.ts';
import type { CommandInput, CommandOption } from '../command.ts';
import { usageError } from '../command-error.ts';
import { numberOption, switchOption, textOption } from '../option-values.ts';

/** A search from the words of a command line. */
export interface SearchWords {
  readonly filters: readonly OfferFilter[];
  readonly order?: readonly OfferOrder[];
  readonly limit?: number;
}

export const SEARCH_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--order <fields>',
    description: 'Sort by these, comma-separated; a trailing - means descending, e.g. dph_total,score-.',
  },
  { flags: '--limit <n>', description: 'Maximum number of results.' },
  { flags: '--no-default', description: 'Omit the usual filters (verified, rentable, not external).' },
];

/**
 * Returns the query of the words, e.g. `gpu_name=RTX_4090 num_gpus>=2`, with the usual filters added. Throws a usage
 * error that points at the position of a mistake.
 */
export async function searchWords(
  { args, options }: CommandInput,
  defaults: readonly OfferFilter[],
  standardOrder: string,
): Promise<SearchWords> {
  const { parseOrderText, parseQueryText, withDefaults } = await import(
    '../../markets/vast/offers/query-text.ts'
  );
  const text = args.join(' ');
  const query = parseQueryText(text);
  if (query.type === 'invalid') throw invalidText(text, query);
  const orderText = textOption(options, '--order') ?? standardOrder;
  const order = parseOrderText(orderText);
  if (order.type === 'invalid') throw invalidText(orderText, order, '--order: ');
  const limit = numberOption(options, '--limit', { min: 1, max: 10_000, whole: true });
  const usual = options.default === false ? [] : defaults;
  return {
    filters: withDefaults(query, usual),
    order: order.order,
    ...(limit === undefined ? {} : { limit }),
  };
}

function invalidText(text: string, { at, message }: { at: number; message: string }, where = ''): Error {
  return usageError(
    `${where}${message.replace(/([^?.])$/, '$1.')}\n  ${text}\n  ${' '.repeat(at)}^`,
    'Correct the word above the mark.',
  );
}

/** Returns the type of `--type`, including the words that people use for bids. */
export function pricingOf({ options }: CommandInput): 'on-demand' | 'bid' | 'reserved' {
  if (switchOption(options, '--interruptible')) return 'bid';
  switch (textOption(options, '--type')) {
    case 'bid':
    case 'interruptible':
      return 'bid';
    case 'reserved':
      return 'reserved';
    default:
      return 'on-demand';
  }
}
