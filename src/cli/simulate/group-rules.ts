import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../lib/duration.ts';
import { parseDollars } from '../../lib/money.ts';
import type { Fault } from './yaml-source.ts';

interface GroupRule {
  /** Field of the spec. */
  readonly field: keyof EndpointGroupSpec;
  readonly isBroken: (spec: EndpointGroupSpec) => boolean;
  readonly message: (spec: EndpointGroupSpec) => string;
}

const ms = (duration: string | undefined) => parseDuration(duration) ?? 0;

function within(
  field: 'maxQueueTime' | 'drainTimeout' | 'targetQueueTime' | 'wakeTimeout',
  most: string,
): GroupRule {
  return {
    field,
    isBroken: (spec) => ms(spec[field]) < 1000 || ms(spec[field]) > ms(most),
    message: (spec) => `${field} ${spec[field]} is not between 1s and ${most}`,
  };
}

/** What the API server refuses when such a group is applied, and no cluster is asked here. */
const RULES: readonly GroupRule[] = [
  within('maxQueueTime', '24h'),
  within('drainTimeout', '24h'),
  within('targetQueueTime', '24h'),
  within('wakeTimeout', '1h'),
  {
    field: 'inactivityTimeout',
    isBroken: ({ inactivityTimeout }) => inactivityTimeout !== undefined && ms(inactivityTimeout) < 1000,
    message: ({ inactivityTimeout }) => `inactivityTimeout ${inactivityTimeout} is below 1s`,
  },
  {
    field: 'targetQueueTime',
    isBroken: ({ targetQueueTime, maxQueueTime }) => ms(targetQueueTime) > ms(maxQueueTime),
    message: ({ targetQueueTime, maxQueueTime }) =>
      `targetQueueTime ${targetQueueTime} is above maxQueueTime ${maxQueueTime}: lower the one or raise the other`,
  },
  {
    field: 'coldWorkers',
    isBroken: ({ coldWorkers, maxWorkers }) => coldWorkers > maxWorkers,
    message: ({ coldWorkers, maxWorkers }) =>
      `coldWorkers ${coldWorkers} is above maxWorkers ${maxWorkers}: lower the one or raise the other`,
  },
  {
    field: 'replicas',
    isBroken: ({ replicas, maxWorkers }) => (replicas ?? 0) > maxWorkers,
    message: ({ replicas, maxWorkers }) =>
      `replicas ${replicas} is above maxWorkers ${maxWorkers}: lower the one or raise the other`,
  },
  {
    field: 'inactivityTimeout',
    isBroken: ({ scaleToZero, inactivityTimeout }) =>
      scaleToZero === 'Never' && inactivityTimeout !== undefined,
    message: () => 'inactivityTimeout says when to scale to zero: leave it out with scaleToZero: Never',
  },
  {
    field: 'maxSpendPerHour',
    isBroken: (spec) => spec.maxSpendPerHour !== undefined && isEveryOfferAbove(spec, spec.maxSpendPerHour),
    message: ({ maxSpendPerHour }) =>
      `maxSpendPerHour ${maxSpendPerHour} is below the maxPricePerHour of every alternative of the template: no worker could ever be rented`,
  },
];

function isEveryOfferAbove({ template }: EndpointGroupSpec, ceiling: string): boolean {
  const { offers = [] } = template.spec;
  const most = parseDollars(ceiling) ?? 0;
  return offers.length > 0 && offers.every((offer) => (parseDollars(offer.maxPricePerHour) ?? 0) > most);
}

/** Options that contradict each other or have no meaning, with their numbers. */
export function groupFaults(spec: EndpointGroupSpec): readonly Fault[] {
  return RULES.filter(({ isBroken }) => isBroken(spec)).map(({ field, message }) => ({
    path: ['spec', field],
    message: message(spec),
  }));
}
