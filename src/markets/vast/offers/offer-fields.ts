import { nearest } from '../../../lib/text.ts';

/** A field of an offer: its wire name, type, unit on the wire, and meaning. */
export interface OfferFieldRow {
  readonly name: string;
  readonly type: 'number' | 'text' | 'boolean';
  /** Unit on the wire; empty if it has none. */
  readonly unit: string;
  readonly meaning: string;
  /** Set if searches may filter by the field but no offer has it. */
  readonly filterOnly?: true;
}

type Cells = readonly [name: string, type: OfferFieldRow['type'], unit: string, meaning: string];

const rows = (cells: readonly Cells[]): OfferFieldRow[] =>
  cells.map(([name, type, unit, meaning]) => ({ name, type, unit, meaning }));

const filters = (cells: readonly Cells[]): OfferFieldRow[] =>
  rows(cells).map((row) => ({ ...row, filterOnly: true }));

const MACHINE = rows([
  ['id', 'number', '', 'the offer, used to rent'],
  ['ask_contract_id', 'number', '', 'the same as id'],
  ['bundle_id', 'number', '', 'offers of one machine'],
  ['machine_id', 'number', '', 'the machine'],
  ['host_id', 'number', '', 'its host'],
  ['cluster_id', 'number', '', 'the cluster it belongs to'],
  ['gpu_name', 'text', '', 'GPU model, e.g. RTX 4090'],
  ['num_gpus', 'number', '', 'GPUs per instance'],
  ['gpu_frac', 'number', '0..1', "share of the machine's GPUs"],
  ['gpu_ram', 'number', 'MB', 'memory of one GPU'],
  ['gpu_total_ram', 'number', 'MB', 'memory of all GPUs'],
  ['gpu_arch', 'text', '', 'nvidia or amd'],
  ['gpu_mem_bw', 'number', 'GB/s', 'memory bandwidth of a GPU'],
  ['bw_nvlink', 'number', 'GB/s', 'bandwidth between GPUs'],
  ['gpu_max_power', 'number', 'W', 'power limit of a GPU'],
  ['gpu_max_temp', 'number', '°C', 'temperature limit of a GPU'],
  ['gpu_display_active', 'boolean', '', 'a display is attached'],
  ['gpu_lanes', 'number', '', 'PCI lanes of a GPU'],
  ['compute_cap', 'number', '×100', 'CUDA capability, e.g. 890'],
  ['cuda_max_good', 'number', '', 'highest CUDA version of the driver'],
  ['driver_version', 'text', '', 'driver, e.g. 535.86.05'],
  ['driver_vers', 'number', '', 'driver as a number that can be compared'],
  ['cpu_name', 'text', '', 'CPU model'],
  ['cpu_arch', 'text', '', 'amd64 or arm64'],
  ['cpu_cores', 'number', '', 'cores of the machine'],
  ['cpu_cores_effective', 'number', '', 'cores of the offer'],
  ['cpu_ghz', 'number', 'GHz', 'clock'],
  ['cpu_ram', 'number', 'MB', 'main memory'],
  ['has_avx', 'number', '0 or 1', 'the CPU has AVX'],
  ['mobo_name', 'text', '', 'mainboard'],
  ['pci_gen', 'number', '', 'PCI generation'],
  ['pcie_bw', 'number', 'GB/s', 'bandwidth to a GPU'],
  ['os_version', 'text', '', 'version of the operating system'],
  ['ubuntu_version', 'text', '', 'the same as os_version'],
  ['vms_enabled', 'boolean', '', 'virtual machines can be rented'],
  ['is_vm_deverified', 'boolean', '', 'virtual machines lost their verification'],
]);

const DISK_AND_NETWORK = rows([
  ['disk_space', 'number', 'GB', 'disk that can be rented'],
  ['disk_bw', 'number', 'MB/s', 'disk bandwidth'],
  ['disk_name', 'text', '', 'disk model'],
  ['avail_vol_ask_id', 'number', '', 'a volume offer on the same machine'],
  ['avail_vol_dph', 'number', '$/h', 'its price'],
  ['avail_vol_size', 'number', 'GB', 'its size'],
  ['nw_disk_min_bw', 'number', 'MiB/s', 'least bandwidth of network disks'],
  ['nw_disk_max_bw', 'number', 'MiB/s', 'greatest bandwidth of network disks'],
  ['nw_disk_avg_bw', 'number', 'MiB/s', 'average bandwidth of network disks'],
  ['inet_up', 'number', 'Mb/s', 'upload'],
  ['inet_down', 'number', 'Mb/s', 'download'],
  ['inet_up_cost', 'number', '$/GB', 'price of upload'],
  ['inet_down_cost', 'number', '$/GB', 'price of download'],
  ['direct_port_count', 'number', '', 'directly reachable ports'],
  ['static_ip', 'boolean', '', 'the address stays'],
]);

const PRICE_AND_SCORE = rows([
  ['dph_total', 'number', '$/h', 'price with storage'],
  ['dph_base', 'number', '$/h', 'price of the GPUs alone'],
  ['discounted_dph_total', 'number', '$/h', 'price when reserved'],
  ['min_bid', 'number', '$/h', 'lowest bid'],
  ['storage_cost', 'number', '$/GB/month', 'price of storage'],
  ['storage_total_cost', 'number', '$/h', 'price of the storage asked for'],
  ['total_flops', 'number', 'TFLOPS', 'of all GPUs'],
  ['flops_per_dphtotal', 'number', 'TFLOPS per $/h', 'value for money'],
  ['dlperf', 'number', '', 'learning performance, as a score'],
  ['dlperf_per_dphtotal', 'number', 'per $/h', 'value for money'],
  ['score', 'number', '', 'the usual ranking'],
]);

const TRUST_AND_TIME = rows([
  ['duration', 'number', 's', 'how long it remains available'],
  ['start_date', 'number', 'epoch s', 'since when it is offered'],
  ['end_date', 'number', 'epoch s', 'until when it is offered'],
  ['reliability', 'number', '0..1', 'of the machine'],
  ['expected_reliability', 'number', '0..1', 'of the machine, expected'],
  ['reliability_mult', 'number', '', 'factor of the ranking'],
  ['verification', 'text', '', 'verified, unverified or deverified'],
  ['vericode', 'number', '', 'verification as a number'],
  ['hosting_type', 'number', '0 or 1', '1: in a data centre'],
  ['rentable', 'boolean', '', 'can be rented now'],
  ['rented', 'boolean', '', 'you rent it already'],
  ['external', 'boolean', '', 'offered from outside'],
  ['is_bid', 'boolean', '', 'interruptible'],
  ['geolocation', 'text', '', 'place; two letters of the country in filters'],
  ['geolocode', 'number', '', 'place as a number'],
]);

/** Filters that the service maps to other columns. */
const VIRTUAL = filters([
  ['verified', 'boolean', '', 'identity-checked hosts'],
  ['datacenter', 'boolean', '', 'hosts in a data centre'],
  ['allocated_storage', 'number', 'GiB', 'at least so much disk'],
  ['target_reliability', 'number', '0..1', 'at least so reliable'],
  ['gpu_ram_GB', 'number', 'GB', 'memory of one GPU'],
  ['gpu_totalram_GB', 'number', 'GB', 'memory of all GPUs'],
  ['cpu_ram_GB', 'number', 'GB', 'main memory'],
]);

/** All fields, in the order of documentation. */
export const OFFER_FIELD_ROWS: readonly OfferFieldRow[] = [
  ...MACHINE,
  ...DISK_AND_NETWORK,
  ...PRICE_AND_SCORE,
  ...TRUST_AND_TIME,
  ...VIRTUAL,
];

/** Examples of values, in the unit for users, for fields whose type alone does not show the form. */
const EXAMPLES: ReadonlyMap<string, string> = new Map([
  ['gpu_name', 'gpu_name=RTX_4090'],
  ['gpu_ram', 'gpu_ram>=24'],
  ['gpu_total_ram', 'gpu_total_ram>=48'],
  ['cpu_ram', 'cpu_ram>=64'],
  ['cuda_max_good', 'cuda_max_good>=12.8'],
  ['geolocation', 'geolocation=DE'],
  ['driver_version', 'driver_version>=550.54.14'],
  ['verification', 'verification=verified'],
]);

const UNIT_EXAMPLES: ReadonlyMap<string, string> = new Map([
  ['0..1', '>=0.95'],
  ['0 or 1', '=1'],
  ['×100', '>=890'],
  ['$/h', '<=0.5'],
  ['$/GB', '<=0.01'],
  ['GB', '>=64'],
  ['W', '<=350'],
  ['°C', '<=90'],
  ['Mb/s', '>=500'],
]);

/** Returns a filter by that field with a value that offers have. */
export function exampleFilter(name: string, { name: wire, type, unit }: OfferFieldRow): string {
  const example = EXAMPLES.get(wire);
  if (example !== undefined) return example.replace(wire, name);
  if (type === 'boolean') return `${name}=true`;
  if (type === 'text') return `${name}=a_b`;
  return `${name}${UNIT_EXAMPLES.get(unit) ?? '>=2'}`;
}

/**
 * Returns an error with the value to write if no offer, or every offer, has such a value in the field; undefined
 * otherwise. The marketplace reports no error: it finds no offer, or ignores the filter.
 */
export function impossibleValue({ name, unit }: OfferFieldRow, value: number): string | undefined {
  if (unit === '0..1' && (value < 0 || value > 1))
    return `${name} is a share from 0 to 1: write ${value > 1 && value <= 100 ? value / 100 : 0.95} in place of ${value}`;
  if (unit === '×100' && value < 100)
    return `${name} is the CUDA capability times 100: write ${value > 0 ? Math.round(value * 100) : 890} in place of ${value}`;
  if (unit === '0 or 1' && value !== 0 && value !== 1)
    return `${name} is 0 or 1: write 1 in place of ${value}`;
  return undefined;
}

/** Every field of an offer that can be filtered, sorted or shown, by its wire name. */
export const OFFER_FIELDS: ReadonlyMap<string, OfferFieldRow> = new Map(
  OFFER_FIELD_ROWS.map((row) => [row.name, row]),
);

/** Wire names by the names that people use. */
export const FIELD_ALIASES: ReadonlyMap<string, string> = new Map([
  ['cuda_vers', 'cuda_max_good'],
  ['display_active', 'gpu_display_active'],
  ['dlperf_usd', 'dlperf_per_dphtotal'],
  ['dph', 'dph_total'],
  ['dphtotal', 'dph_total'],
  ['flops_usd', 'flops_per_dphtotal'],
  ['gpu_totalram', 'gpu_total_ram'],
  ['reliability2', 'reliability'],
]);

/** Result of a lookup. */
export type FieldLookup =
  | { readonly type: 'known'; readonly field: OfferFieldRow }
  /** `nearest`: the probable name. */
  | { readonly type: 'unknown'; readonly nearest: string | undefined };

/** Returns the field of that name or alias; otherwise the nearest name, if one is near. */
export function findOfferField(name: string): FieldLookup {
  const field = OFFER_FIELDS.get(FIELD_ALIASES.get(name) ?? name);
  return field ? { type: 'known', field } : { type: 'unknown', nearest: nearestName(name) };
}

/** Returns one sentence about an unknown field: its name, and the name to write instead. */
export function unknownFieldMessage(name: string): string {
  const meant = nearestName(name);
  const hint = meant === undefined ? 'docs/reference/offer-fields.md lists them' : `did you mean "${meant}"?`;
  return `"${name}" is no field of an offer: ${hint}`;
}

function nearestName(name: string): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  return nearest(name, [...OFFER_FIELDS.keys(), ...FIELD_ALIASES.keys()], () => most);
}
