import { fieldName } from './former-columns.ts';
import type { GpuInstanceSpec } from './gpu-instance.ts';
import {
  type Ask,
  type FactValue,
  factOf,
  isIdFact,
  OFFER_FIELD_ROWS,
  OFFER_FIELDS,
  type OfferFacts,
  type OfferField,
  type OfferFieldName,
  valueIn,
} from './offer-fields.ts';
import type { OfferFilter, OfferRequirements } from './offer-requirements.ts';

type FilterOperator = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'notin';

/** A requirement in the form of the marketplace's search. */
export interface RequirementFilter {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly value: FactValue | readonly FactValue[];
}

/** A requirement: its local test, and its filters in the search. */
export interface Requirement {
  /** The requirement in the user's form: `gpuNames RTX 4090`. */
  readonly label: string;
  /** Returns true if the facts pass; an unknown fact passes. */
  readonly passes: (facts: OfferFacts) => boolean;
  /** Returns true if the fact is known. */
  readonly isKnown: (facts: OfferFacts) => boolean;
  readonly filters: readonly RequirementFilter[];
}

/** The fields of a spec that determine the number of direct ports. */
export type DeclaredPorts = Partial<Pick<GpuInstanceSpec, 'ports' | 'ssh'>>;

/** Returns the requirements of an alternative on one kind of object, in the order of its fields. */
export function requirementsOn(
  kind: OfferField['of'],
  requirements: OfferRequirements,
  declared: DeclaredPorts,
): readonly Requirement[] {
  const directPorts = neededDirectPorts(declared);
  const values: Readonly<Record<string, unknown>> = requirements;
  return OFFER_FIELD_ROWS.flatMap(([name, row]) => {
    const ask = row.of === kind ? row.asks?.(values[name], directPorts) : undefined;
    return ask ? [requirementBy(row, ask)] : [];
  });
}

/** Returns the requirement on the field of that name. */
export function requirementOn(name: OfferFieldName, ask: Ask): Requirement {
  return requirementBy(OFFER_FIELDS[name], ask);
}

/** Returns the filter of a search on the field of that name. */
export function searchFilter(name: OfferFieldName, value: Ask['value']): RequirementFilter {
  return filterBy(OFFER_FIELDS[name], value);
}

function requirementBy(row: OfferField, { label, value }: Ask): Requirement {
  return {
    label,
    passes: (facts) => {
      const fact = factOf(row, facts);
      return fact === undefined || COMPARISONS[row.compares](row.reads?.(fact) ?? fact, value);
    },
    isKnown: (facts) => factOf(row, facts) !== undefined,
    filters: [filterBy(row, value)],
  };
}

/**
 * Returns the number of direct ports that declared ports and SSH need to be reached from outside: one for each of them.
 */
export function neededDirectPorts({ ports = [], ssh }: DeclaredPorts): number {
  const needed = ports.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`);
  return new Set([...needed, ...(ssh ? ['22/TCP'] : [])]).size;
}

type Comparison = (left: FactValue, right: FactValue) => boolean;
type Known = Exclude<FactValue, null>;

/** Compares two values; null is neither more nor less than any other. */
const ordered =
  (compares: (left: Known, right: Known) => boolean): Comparison =>
  (left, right) =>
    left !== null && right !== null && compares(left, right);

const OPERATORS: Readonly<
  Record<Exclude<OfferFilter['operator'], 'In' | 'NotIn'>, readonly [FilterOperator, Comparison]>
> = {
  Eq: ['eq', (left, right) => left === right],
  Neq: ['neq', (left, right) => left !== right],
  Gt: ['gt', ordered((left, right) => left > right)],
  Gte: ['gte', ordered((left, right) => left >= right)],
  Lt: ['lt', ordered((left, right) => left < right)],
  Lte: ['lte', ordered((left, right) => left <= right)],
};

const COMPARISONS: Readonly<
  Record<OfferField['compares'], (fact: FactValue, asked: Ask['value']) => boolean>
> = {
  oneOf: (fact, asked) => [asked].flat().includes(fact),
  equal: (fact, asked) => fact === asked,
  atLeast: (fact, asked) => Number(fact) >= Number(asked),
  atMost: (fact, asked) => Number(fact) <= Number(asked),
};
const FILTER_OPERATORS = { equal: 'eq', atLeast: 'gte', atMost: 'lte' } as const;

function filterBy({ fact: field, compares }: OfferField, value: Ask['value']): RequirementFilter {
  if (compares !== 'oneOf') return { field, operator: FILTER_OPERATORS[compares], value };
  const values = [value].flat();
  const [only = null] = values;
  return values.length === 1
    ? { field, operator: 'eq', value: only }
    : { field, operator: 'in', value: values };
}

/** Returns the requirements on fields without a place of their own. Fields that only the market resolves pass here. */
export function filterRequirements({ filters = [] }: OfferRequirements): readonly Requirement[] {
  return filters.map(filterRequirement);
}

function filterRequirement(filter: OfferFilter): Requirement {
  const { field: named, operator, value: written = '', values: listed = [written] } = filter;
  const field = fieldName(named);
  const read = isIdFact(field) ? String : factValue;
  const values = listed.map(read);
  const label = `filter ${named} ${operator} ${listed.join(', ')}`;
  if (operator === 'In' || operator === 'NotIn') {
    const isIn = operator === 'In';
    return {
      label,
      passes: (facts) => {
        const value = valueIn(facts, field);
        return value === undefined || values.includes(value) === isIn;
      },
      isKnown: (facts) => valueIn(facts, field) !== undefined,
      filters: [{ field, operator: isIn ? 'in' : 'notin', value: values }],
    };
  }
  const [wireOperator, compares] = OPERATORS[operator];
  const value = read(written);
  return {
    label,
    passes: (facts) => {
      const known = valueIn(facts, field);
      return known === undefined || compares(known, value);
    },
    isKnown: (facts) => valueIn(facts, field) !== undefined,
    filters: [{ field, operator: wireOperator, value }],
  };
}

/** Returns the value of a text: a number, true, false or a word. */
export function factValue(text: string): FactValue {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}
