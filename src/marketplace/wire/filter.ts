/** A value that a filter compares with, and that an offer's field holds. */
export type OfferScalar = string | number | boolean | null;

/** All comparisons of an offer search, in the order people are told them (specification 4.4 shows two). */
export const FILTER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;

/** A comparison of an offer search. */
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/** Filters of one field: `{op: value}`, joined by AND. */
export type WireFilter = Partial<Record<FilterOperator, OfferScalar | readonly OfferScalar[]>>;

/** Control keys of a search body (specification 4.4); the filters stand beside them, each under its field. */
export interface WireSearchControls {
  readonly order?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  readonly type?: 'on-demand' | 'bid' | 'reserved';
  readonly limit?: number;
  readonly allocated_storage?: number;
}
