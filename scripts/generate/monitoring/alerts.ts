import { OWN_CONTROLLERS } from './own-series.ts';

/** An alert. Its page is docs/runbooks/<name in lower case>.md. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  /** Summary in one line, with the object. */
  readonly summary: string;
  /** Meaning, with the relevant number. */
  readonly description: string;
}

const CONDITION = 'status_condition_current_status_seconds';

/** Money first. Each has a page and a case for `promtool test rules`. */
export const alerts: readonly Alert[] = [
  {
    alert: 'GpuRentalOrphanBills',
    expr: 'max by (namespace, account) (gpu_rental_orphan_dollars_per_hour) > 0',
    for: '10m',
    severity: 'critical',
    summary:
      'A machine of account {{ $labels.namespace }}/{{ $labels.account }} bills and no object claims it.',
    description: 'Orphaned machines cost {{ $value }} dollars an hour.',
  },
  {
    alert: 'GpuRentalDestroyFails',
    expr: 'max by (namespace, name) (gpu_rental_destroy_failing_dollars_per_hour) > 0',
    for: '10m',
    severity: 'critical',
    summary: 'The machine of GpuInstance {{ $labels.namespace }}/{{ $labels.name }} cannot be destroyed.',
    description: 'It bills {{ $value }} dollars an hour; every destroy is refused or unanswered.',
  },
  {
    alert: 'GpuRentalMislabelledMachineBills',
    expr: 'max by (namespace, account) (gpu_rental_mislabelled_dollars_per_hour) > 0',
    for: '10m',
    severity: 'warning',
    summary:
      'A machine of account {{ $labels.namespace }}/{{ $labels.account }} started outside the time of its label, and bills.',
    description:
      'Late rentals and copied labels cost {{ $value }} dollars an hour. Late rentals are orphans after an hour.',
  },
  {
    alert: 'GpuRentalSpendAboveBudget',
    expr: `max by (namespace, name, reason) (gpu_rental_gpuinstance_${CONDITION}{type="OverBudget",status="True"}) > 0 or max by (namespace, name, reason) (gpu_rental_marketplaceaccount_${CONDITION}{type="Funded",status="False"}) > 0`,
    for: '5m',
    severity: 'warning',
    summary:
      '{{ $labels.namespace }}/{{ $labels.name }} has reached a limit of money ({{ $labels.reason }}).',
    description: 'The limit has been reached for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalBudgetReached',
    expr: `max by (namespace) (gpu_rental_gpuinstance_${CONDITION}{type="Ready",status="False",reason="BudgetReached"} > 600 or gpu_rental_spendbudget_${CONDITION}{type="Exceeded",status="True"} > 0)`,
    for: '5m',
    severity: 'warning',
    summary: 'A SpendBudget of namespace {{ $labels.namespace }} is used up.',
    description: 'Machines wait for it, or it has been exceeded, for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalLeaseAtRisk',
    expr: `max by (namespace, name) (gpu_rental_gpuinstance_${CONDITION}{type="LeaseAtRisk",status="True"}) > 0`,
    for: '1m',
    severity: 'warning',
    summary: 'The lease of machine {{ $labels.namespace }}/{{ $labels.name }} is not renewed.',
    description:
      'For {{ $value | humanizeDuration }}. An armed machine destroys itself when its lease is over, even if it is working.',
  },
  {
    alert: 'GpuRentalSelfEndUnproven',
    expr: 'max by (namespace, name) (gpu_rental_self_end_unproven) > 0',
    for: '15m',
    severity: 'warning',
    summary: 'Machine {{ $labels.namespace }}/{{ $labels.name }} has not proved that it can end itself.',
    description: 'If the operator is down at the end of its maxLifetime or lease, nothing may end its bill.',
  },
  {
    alert: 'GpuRentalCreditRunsOut',
    expr: 'min by (namespace, account) (gpu_rental_credit_runway_seconds) < 86400',
    for: '15m',
    severity: 'warning',
    summary: 'The credit of account {{ $labels.namespace }}/{{ $labels.account }} runs out within a day.',
    description:
      'It lasts {{ $value | humanizeDuration }} at the present cost of its machines. Without credit the marketplace stops or destroys them.',
  },
  {
    alert: 'GpuRentalGpuIdle',
    expr: 'max by (namespace, name) (avg_over_time(gpu_rental_instance_gpu_utilization_ratio[15m])) < 0.05',
    for: '1h',
    severity: 'warning',
    summary: 'The GPUs of GpuInstance {{ $labels.namespace }}/{{ $labels.name }} are idle, and it bills.',
    description: 'Their average utilization is {{ $value | humanizePercentage }}.',
  },
  {
    alert: 'GpuRentalIdle',
    expr: `max by (namespace, name) (gpu_rental_gpuinstance_${CONDITION}{type="Idle",status="True"}) > 0`,
    for: '1m',
    severity: 'warning',
    summary: 'GpuInstance {{ $labels.namespace }}/{{ $labels.name }} is idle by its spec.idle.',
    description:
      'The condition Idle has reported it for {{ $value | humanizeDuration }}, and says whether and when the machine ends.',
  },
  {
    alert: 'GpuRentalQueueWaits',
    expr: 'max by (namespace, account) (gpu_rental_queue_longest_wait_seconds) > 1800',
    for: '5m',
    severity: 'warning',
    summary:
      'GpuInstances of account {{ $labels.namespace }}/{{ $labels.account }} wait long for the marketplace.',
    description: 'The longest wait for a search or a rental slot is {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalInstanceStuck',
    expr: `max by (namespace, name, reason) (gpu_rental_gpuinstance_${CONDITION}{type="Ready",status="False"}) > 1800 unless on (namespace, name) gpu_rental_instance_info{phase="Stopped"}`,
    for: '5m',
    severity: 'warning',
    summary: 'GpuInstance {{ $labels.namespace }}/{{ $labels.name }} is not ready ({{ $labels.reason }}).',
    description: 'It has been so for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalGroupShort',
    expr: `max by (namespace, name, reason) (gpu_rental_endpointgroup_${CONDITION}{type="Ready",status="False",reason!="RollingUpdate"}) > 900`,
    for: '5m',
    severity: 'warning',
    summary:
      'EndpointGroup {{ $labels.namespace }}/{{ $labels.name }} has fewer workers than it needs ({{ $labels.reason }}).',
    description: 'It has been so for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalGroupBlind',
    expr: `max by (namespace, name, reason) (gpu_rental_endpointgroup_${CONDITION}{type="MetricsAvailable",status="False"}) > 300`,
    for: '5m',
    severity: 'warning',
    summary:
      'The load of EndpointGroup {{ $labels.namespace }}/{{ $labels.name }} is unknown ({{ $labels.reason }}).',
    description:
      'It has been unknown for {{ $value | humanizeDuration }}; the operator neither removes workers nor adds any for unreported load.',
  },
  {
    alert: 'GpuRentalGatewayRequestsWait',
    expr: 'sum by (namespace, name) (gpu_rental_gateway_held_requests) > 0 unless on (namespace, name) sum by (namespace, name) (increase(gpu_rental_gateway_picks_total[10m])) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'Requests to EndpointGroup {{ $labels.namespace }}/{{ $labels.name }} wait, and none is served.',
    description:
      '{{ $value }} requests wait in the gateway, and no worker was picked for any in ten minutes.',
  },
  {
    alert: 'GpuRentalGatewayRefuses',
    expr: 'group:gpu_rental_gateway_failed:ratio_rate15m > 0.05',
    for: '10m',
    severity: 'warning',
    summary: 'Requests to EndpointGroup {{ $labels.namespace }}/{{ $labels.name }} fail.',
    description:
      '{{ $value | humanizePercentage }} of its requests were refused by the gateway or answered 5xx by workers.',
  },
  {
    alert: 'GpuRentalKeyRejected',
    expr: `max by (namespace, name, reason) (gpu_rental_marketplaceaccount_${CONDITION}{type="Authenticated",status="False"}) > 60`,
    for: '5m',
    severity: 'critical',
    summary:
      'The key of account {{ $labels.namespace }}/{{ $labels.name }} is not verified ({{ $labels.reason }}).',
    description: 'The operator can neither rent nor destroy with it; running machines keep billing.',
  },
  {
    alert: 'GpuRentalAccountSuspended',
    expr: `max by (namespace, name) (gpu_rental_marketplaceaccount_${CONDITION}{type="Suspended",status="True"}) > 86400`,
    for: '5m',
    severity: 'warning',
    summary: 'Account {{ $labels.namespace }}/{{ $labels.name }} has been suspended for more than a day.',
    description: 'The operator neither rents nor starts machines with it; running machines and disks bill.',
  },
  {
    alert: 'GpuRentalMarketplaceDown',
    expr: 'max by (namespace, account) (gpu_rental_list_age_seconds) > 300',
    for: '5m',
    severity: 'warning',
    summary: 'The machines of account {{ $labels.namespace }}/{{ $labels.account }} could not be listed.',
    description:
      'The latest complete list is {{ $value | humanizeDuration }} old: machines that failed since then are not replaced.',
  },
  {
    alert: 'GpuRentalMassOrphaned',
    expr: `max by (namespace, name) (gpu_rental_marketplaceaccount_${CONDITION}{type="Stalled",status="True",reason="OrphansHeld"}) > 0`,
    for: '1m',
    severity: 'critical',
    summary:
      'Many machines of account {{ $labels.namespace }}/{{ $labels.name }} lost their GpuInstances at once, or a backup was restored.',
    description: 'They bill. The operator destroys none of them until a person confirms.',
  },
  {
    alert: 'GpuRentalBreakerOpen',
    expr: 'max by (namespace, account) (gpu_rental_breaker_open) == 1',
    for: '15m',
    severity: 'warning',
    summary: 'Too many machines of account {{ $labels.namespace }}/{{ $labels.account }} are unhealthy.',
    description:
      'The operator sweeps and replaces no machine until they recover or `maxUnhealthyHold` has passed.',
  },
  {
    alert: 'GpuRentalQueueStuck',
    expr: `max by (name) (workqueue_longest_running_processor_seconds{name=~${OWN_CONTROLLERS}}) > 300`,
    for: '5m',
    severity: 'warning',
    summary: 'A reconcile of controller {{ $labels.name }} does not end.',
    description: 'The longest has run for {{ $value | humanizeDuration }}.',
  },
  {
    alert: 'GpuRentalNoLeader',
    expr: 'sum(leader_election_master_status{name="gpu-rental-operator"}) < 1 or absent(leader_election_master_status{name="gpu-rental-operator"})',
    for: '5m',
    severity: 'critical',
    summary: 'No operator holds the lease.',
    description: 'Machines keep billing; none is replaced or destroyed.',
  },
  {
    alert: 'GpuRentalReconcileErrors',
    expr: 'controller:controller_runtime_reconcile_errors:ratio_rate15m > 0.1',
    for: '15m',
    severity: 'warning',
    summary: 'Controller {{ $labels.controller }} fails often.',
    description: '{{ $value | humanizePercentage }} of its reconciles failed.',
  },
  {
    alert: 'GpuRentalProcessFault',
    expr: 'sum by (kind) (increase(gpu_rental_process_faults_total[1h])) > 0',
    for: '1m',
    severity: 'warning',
    summary: 'The operator did not catch an error ({{ $labels.kind }}).',
    description: '{{ $value | printf "%.0f" }} in the last hour; the log names the object of each.',
  },
];

/** Returns the file name of the runbook. */
export function runbookName({ alert }: Alert): string {
  return `${alert.toLowerCase()}.md`;
}
