import { parseQuantity } from '../../lib/quantity.ts';
import type { GpuInstanceSpec } from './gpu-instance.ts';
import type { OfferFilter, OfferRequirements } from './offer-requirements.ts';

/** A value of a column of an offer. */
export type FactValue = string | number | boolean | null;

/** What is known of an offer, or of the machine that was rented by it. Undefined is not known, and rules nothing out. */
export interface OfferFacts {
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  /** Decimal megabytes of one GPU. */
  readonly gpuMemoryMB: number | undefined;
  readonly directPorts: number | undefined;
  /** 0 to 1. */
  readonly reliability: number | undefined;
  readonly verified: boolean | undefined;
  /** As the marketplace words it, such as `California, US`. */
  readonly region: string | undefined;
  /** Columns by their wire names. */
  readonly fields: Readonly<Record<string, FactValue | undefined>>;
}

type FilterOperator = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'notin';

/** A requirement as the marketplace's search takes it. */
export interface RequirementFilter {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly value: FactValue | readonly FactValue[];
}

/** One requirement: how it is tested here, and what the search is asked for. */
export interface Requirement {
  /** As a person wrote it: `gpuNames RTX 4090`. */
  readonly label: string;
  /** What is not known passes. */
  readonly passes: (facts: OfferFacts) => boolean;
  /** Whether it is known. */
  readonly isKnown: (facts: OfferFacts) => boolean;
  readonly filters: readonly RequirementFilter[];
}

/** What of a spec decides how many direct ports a machine needs. */
export type DeclaredPorts = Partial<Pick<GpuInstanceSpec, 'ports' | 'ssh'>>;

/** Requirements on the machine itself, in the order of the fields of an alternative. */
export function machineRequirements(
  { gpuNames, gpuCount, minGpuMemory, minDirectPorts }: OfferRequirements,
  declared: DeclaredPorts,
): readonly Requirement[] {
  const memoryMB =
    minGpuMemory === undefined ? undefined : Math.floor((parseQuantity(minGpuMemory) ?? 0) / 1e6);
  return [
    ...(gpuNames === undefined ? [] : [namesRequirement(gpuNames)]),
    {
      label: `gpuCount ${gpuCount}`,
      passes: (facts) => facts.gpuCount === undefined || facts.gpuCount === gpuCount,
      isKnown: (facts) => facts.gpuCount !== undefined,
      filters: [{ field: 'num_gpus', operator: 'eq', value: gpuCount }],
    },
    ...atLeast(
      { label: `minGpuMemory ${minGpuMemory}`, field: 'gpu_ram', least: memoryMB },
      (facts) => facts.gpuMemoryMB,
    ),
    ...directPortsRequirement(minDirectPorts, neededDirectPorts(declared)),
  ];
}

/** Direct ports without which a declared port, or SSH, could not be reached from outside: one for each of them. */
export function neededDirectPorts({ ports = [], ssh }: DeclaredPorts): number {
  const needed = ports.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`);
  return new Set([...needed, ...(ssh ? ['22/TCP'] : [])]).size;
}

function directPortsRequirement(asked: number | undefined, needed: number): readonly Requirement[] {
  const least = Math.max(asked ?? 0, needed);
  if (asked === undefined && needed === 0) return [];
  const label =
    (asked ?? 0) >= needed ? `minDirectPorts ${asked}` : `${needed} direct ports for ports and ssh`;
  return atLeast({ label, field: 'direct_port_count', least }, (facts) => facts.directPorts);
}

function namesRequirement(gpuNames: readonly string[]): Requirement {
  return {
    label: `gpuNames ${gpuNames.join(', ')}`,
    passes: ({ gpuName }) => gpuName === undefined || gpuNames.includes(gpuName),
    isKnown: ({ gpuName }) => gpuName !== undefined,
    filters: [oneOf('gpu_name', gpuNames)],
  };
}

function oneOf(field: string, values: readonly string[]): RequirementFilter {
  const [first = '', ...others] = values;
  return others.length === 0
    ? { field, operator: 'eq', value: first }
    : { field, operator: 'in', value: values };
}

/** Requirements on the host. */
export function hostRequirements({
  minReliability,
  regions,
  verified,
}: OfferRequirements): readonly Requirement[] {
  const share = minReliability === undefined ? undefined : Number.parseFloat(minReliability) / 100;
  return [
    ...atLeast(
      { label: `minReliability ${minReliability}`, field: 'reliability', least: share },
      (facts) => facts.reliability,
    ),
    ...(regions === undefined ? [] : [regionRequirement(regions)]),
    ...(verified
      ? [
          {
            label: 'verified true',
            passes: (facts: OfferFacts) => facts.verified !== false,
            isKnown: (facts: OfferFacts) => facts.verified !== undefined,
            filters: [{ field: 'verified', operator: 'eq', value: true } as const],
          },
        ]
      : []),
  ];
}

/** Services word a place as `California, US`; the country is what stands behind the last comma. */
function regionRequirement(regions: readonly string[]): Requirement {
  return {
    label: `regions ${regions.join(', ')}`,
    passes: ({ region }) =>
      region === undefined || regions.includes(region.slice(region.lastIndexOf(',') + 1).trim()),
    isKnown: ({ region }) => region !== undefined,
    filters: [oneOf('geolocation', regions)],
  };
}

interface Least {
  readonly label: string;
  readonly field: string;
  readonly least: number | undefined;
}

/** A requirement that a figure is at least so large; none where nothing is asked. */
export function atLeast(
  { label, field, least }: Least,
  value: (facts: OfferFacts) => number | undefined,
): readonly Requirement[] {
  if (least === undefined) return [];
  return [
    {
      label,
      passes: (facts) => (value(facts) ?? least) >= least,
      isKnown: (facts) => value(facts) !== undefined,
      filters: [{ field, operator: 'gte', value: least }],
    },
  ];
}

type Comparison = (left: FactValue, right: FactValue) => boolean;
type Known = Exclude<FactValue, null>;

/** What is null is neither more nor less than anything. */
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

/** Requirements on fields that have no place of their own. Columns that only the service resolves pass here. */
export function filterRequirements({ filters = [] }: OfferRequirements): readonly Requirement[] {
  return filters.map(filterRequirement);
}

function filterRequirement(filter: OfferFilter): Requirement {
  const { field, operator, value: written = '', values: listed = [written] } = filter;
  const values = listed.map(factValue);
  const label = `filter ${field} ${operator} ${listed.join(', ')}`;
  if (operator === 'In' || operator === 'NotIn') {
    const isIn = operator === 'In';
    return {
      label,
      passes: ({ fields }) => fields[field] === undefined || values.includes(fields[field]) === isIn,
      isKnown: ({ fields }) => fields[field] !== undefined,
      filters: [{ field, operator: isIn ? 'in' : 'notin', value: values }],
    };
  }
  const [wireOperator, compares] = OPERATORS[operator];
  const value = factValue(written);
  return {
    label,
    passes: ({ fields }) => fields[field] === undefined || compares(fields[field], value),
    isKnown: ({ fields }) => fields[field] !== undefined,
    filters: [{ field, operator: wireOperator, value }],
  };
}

/** A value as people write it in quotes: a number, true, false or a word. */
export function factValue(text: string): FactValue {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}
