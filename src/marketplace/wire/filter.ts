import { z } from 'zod';

/** A value that a filter compares with, and that an offer's field holds. */
export type OfferScalar = string | number | boolean | null;

/** All comparisons of an offer search, in the order people are told them (specification 4.4 shows two). */
export const FILTER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;

/** A comparison of an offer search. */
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/** What a filter's value may be on the wire. */
export const wireScalar: z.ZodType<OfferScalar> = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** `{op: value}`; several operators of one field are joined by AND. */
export const wireFilter = z.record(z.string(), z.union([wireScalar, z.array(wireScalar)]));

/** The control keys of a search body; every other key is a filter by field name. */
export const SEARCH_CONTROL_KEYS: readonly string[] = ['order', 'type', 'limit', 'allocated_storage'];

/** Body of an offer search (specification 4.4): control keys and filters side by side. */
export const offerSearchBody = z.looseObject({
  order: z.array(z.tuple([z.string(), z.enum(['asc', 'desc'])])).optional(),
  type: z.enum(['on-demand', 'ondemand', 'bid', 'reserved']).optional(),
  limit: z.number().int().optional(),
  allocated_storage: z.number().optional(),
});

/** A search body as it travels. */
export type WireOfferSearch = z.infer<typeof offerSearchBody>;
