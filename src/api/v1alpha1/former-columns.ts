import type { IdFact, OFFER_FIELDS, OfferFieldName } from './offer-fields.ts';

type Fact = (typeof OFFER_FIELDS)[OfferFieldName]['fact'] | IdFact;

/**
 * Columns of Vast.ai in specs and records from before offers had neutral names. Records and orders are read by them,
 * and the schema refuses filters by them.
 */
export const FORMER_COLUMNS: ReadonlyMap<string, Fact> = new Map<string, Fact>([
  ['machine_id', 'machineId'],
  ['host_id', 'hostId'],
  ['gpu_name', 'gpuName'],
  ['num_gpus', 'gpuCount'],
  ['gpu_ram', 'gpuMemoryMB'],
  ['direct_port_count', 'directPorts'],
  ['reliability2', 'reliability'],
  ['geolocation', 'region'],
  ['type', 'pricing'],
  ['min_bid', 'minBid'],
  ['dph_total', 'pricePerHour'],
  ['disk_space', 'diskGB'],
  ['allocated_storage', 'diskGB'],
]);

/** Returns the neutral name of an offer's field; a field that only one market has keeps its name. */
export function fieldName(name: string): string {
  return FORMER_COLUMNS.get(name) ?? name;
}
