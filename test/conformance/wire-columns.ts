/*
 * Names and JSON types that clients of the public service read, as recorded from what those clients print
 * and compute with. `?` behind a type allows null.
 */

type ColumnType = 'int' | 'number' | 'string' | 'boolean' | 'object';

const columns = (type: ColumnType, names: string, nullable = false): readonly (readonly [string, string])[] =>
  names.split(' ').map((name) => [name, nullable ? `${type}?` : type] as const);

/** Columns of an offer. */
export const OFFER_COLUMNS = [
  ...columns(
    'int',
    'id ask_contract_id machine_id host_id num_gpus gpu_ram gpu_total_ram gpu_lanes compute_cap',
  ),
  ...columns(
    'int',
    'driver_vers cpu_cores direct_port_count start_date end_date vericode hosting_type geolocode',
  ),
  ...columns('int', 'cluster_id', true),
  ...columns('number', 'gpu_frac gpu_mem_bw bw_nvlink gpu_max_power gpu_max_temp cuda_max_good total_flops'),
  ...columns(
    'number',
    'flops_per_dphtotal dlperf dlperf_per_dphtotal score cpu_cores_effective cpu_ghz cpu_ram',
  ),
  ...columns(
    'number',
    'has_avx pci_gen pcie_bw disk_space disk_bw inet_up inet_down inet_up_cost inet_down_cost',
  ),
  ...columns(
    'number',
    'dph_total dph_base discounted_dph_total min_bid storage_cost storage_total_cost duration',
  ),
  ...columns(
    'number',
    'reliability expected_reliability reliability_mult credit_discount_max vram_costperhour',
  ),
  ...columns(
    'number',
    'internet_up_cost_per_tb internet_down_cost_per_tb dph_total_adj discount_rate discounted_hourly rn',
  ),
  ...columns(
    'number',
    'avail_vol_ask_id avail_vol_dph avail_vol_size nw_disk_min_bw nw_disk_max_bw nw_disk_avg_bw',
    true,
  ),
  ...columns(
    'string',
    'gpu_name gpu_arch driver_version cpu_name cpu_arch mobo_name os_version ubuntu_version',
  ),
  ...columns('string', 'disk_name verification geolocation public_ipaddr resource_type logo time_remaining'),
  ...columns('string', 'hostname webpage', true),
  ...columns(
    'boolean',
    'gpu_display_active static_ip rentable rented external is_bid vms_enabled is_vm_deverified',
  ),
  ...columns('object', 'search instance'),
] as const;

/** Columns of an instance that runs. */
export const INSTANCE_COLUMNS = [
  ...columns(
    'int',
    'id machine_id host_id num_gpus gpu_ram gpu_totalram ssh_port start_date end_date duration',
  ),
  ...columns('int', 'direct_port_start direct_port_end direct_port_count'),
  ...columns('int', 'template_id', true),
  ...columns(
    'string',
    'actual_status cur_state next_state intended_status image_uuid image_runtype jupyter_token',
  ),
  ...columns(
    'string',
    'gpu_name gpu_arch driver_version verification geolocation ssh_host ssh_idx public_ipaddr',
  ),
  ...columns('string', 'local_ipaddrs'),
  ...columns('string', 'label status_msg template_hash_id template_name onstart', true),
  ...columns(
    'number',
    'gpu_frac gpu_util gpu_temp cuda_max_good cpu_cores_effective cpu_util cpu_ram mem_usage',
  ),
  ...columns(
    'number',
    'mem_limit vmem_usage disk_space disk_usage disk_util inet_up inet_down dph_base dph_total',
  ),
  ...columns(
    'number',
    'min_bid storage_cost storage_total_cost uptime_mins reliability2 internet_up_cost_per_tb',
  ),
  ...columns('boolean', 'is_bid'),
  ...columns('object', 'extra_env image_args volume_info ports'),
] as const;

/** Columns whose value is not of the recorded type, as sentences; empty where all fit. */
export function misfits(
  row: Readonly<Record<string, unknown>>,
  expected: readonly (readonly [string, string])[],
): readonly string[] {
  return expected.flatMap(([name, type]) => {
    const value = row[name];
    if (value === null && type.endsWith('?')) return [];
    return fits(value, type.replace('?', ''))
      ? []
      : [`${name} should be ${type}, is ${JSON.stringify(value)}`];
  });
}

function fits(value: unknown, type: string): boolean {
  if (type === 'int') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null;
  return typeof value === type;
}
