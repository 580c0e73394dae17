import { OWN_CONTROLLERS, ofOperator } from './own-series.ts';

/** Content of a panel: queries with the text of their legend. */
export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: 'currencyUSD' | 's' | 'short' | 'percentunit' | 'bytes' | 'ops' | 'bool_yes_no';
  readonly kind: 'stat' | 'timeseries' | 'table';
  readonly queries: readonly Query[];
}

export interface DashboardRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A dashboard without what Grafana needs around it. */
export interface Dashboard {
  readonly file: string;
  readonly title: string;
  readonly description: string;
  /** Variables for filters; each is a label of the query. */
  readonly variables: readonly { readonly name: string; readonly query: string }[];
  readonly rows: readonly DashboardRow[];
}

export const stat = (title: string, unit: Panel['unit'], expr: string, description = ''): Panel => ({
  title,
  description,
  unit,
  kind: 'stat',
  queries: [{ expr, legend: '' }],
});
export const graph = (
  title: string,
  unit: Panel['unit'],
  queries: readonly Query[],
  description = '',
): Panel => ({
  title,
  description,
  unit,
  kind: 'timeseries',
  queries,
});

const ACCOUNT = 'namespace=~"$namespace", account=~"$account"';
/** Replicas that wait for the lease show nothing or stale figures of their own; the leader's are the largest. */
const account = (family: string) => `max by (namespace, account) (${family}{${ACCOUNT}})`;
const perAccount = '{{namespace}}/{{account}}';
const group = (figure: string) =>
  `max by (namespace, name) (gpu_rental_group_${figure}{namespace=~"$namespace"})`;
const perGroup = '{{namespace}}/{{name}}';

export const fleet: Dashboard = {
  file: 'fleet',
  title: 'GPU rental: fleet and money',
  description: 'Rented machines, their cost, and their failures.',
  variables: [
    { name: 'namespace', query: 'label_values(gpu_rental_dollars_per_hour, namespace)' },
    { name: 'account', query: 'label_values(gpu_rental_dollars_per_hour{namespace=~"$namespace"}, account)' },
  ],
  rows: [
    {
      title: 'Money',
      panels: [
        stat('Now, per hour', 'currencyUSD', `sum(${account('gpu_rental_dollars_per_hour')})`),
        stat('This month (UTC)', 'currencyUSD', `sum(${account('gpu_rental_month_dollars')})`),
        stat(
          'Credit',
          'currencyUSD',
          `sum(${account('gpu_rental_credit_dollars')})`,
          'Absent if the key may not read it.',
        ),
        stat(
          'Credit lasts',
          's',
          `min(${account('gpu_rental_credit_runway_seconds')})`,
          'At present cost; the account that runs out first.',
        ),
        stat('Orphaned, per hour', 'currencyUSD', `sum(${account('gpu_rental_orphan_dollars_per_hour')})`),
        graph('Dollars per hour', 'currencyUSD', [
          { expr: account('gpu_rental_dollars_per_hour'), legend: perAccount },
        ]),
        graph('Dollars spent in a day', 'currencyUSD', [
          {
            expr: `sum by (namespace, account) (increase(gpu_rental_dollars_spent_total{${ACCOUNT}}[1d]))`,
            legend: perAccount,
          },
        ]),
        graph(
          'What machines cost from begin to end, 90 %',
          'currencyUSD',
          [
            {
              expr: `histogram_quantile(0.9, sum by (reason, le) (rate(gpu_rental_machine_cost_dollars_bucket{${ACCOUNT}}[6h])))`,
              legend: '{{reason}}',
            },
          ],
          'By why they ended.',
        ),
        {
          title: 'Most expensive instances',
          description: '',
          unit: 'currencyUSD',
          kind: 'table',
          queries: [
            {
              expr: 'topk(20, max by (namespace, name) (gpu_rental_instance_dollars_per_hour{namespace=~"$namespace"}))',
              legend: '',
            },
          ],
        },
      ],
    },
    {
      title: 'Machines',
      panels: [
        graph('Machines by state', 'short', [
          {
            expr: `sum by (state) (max without (pod, instance) (gpu_rental_machines{${ACCOUNT}}))`,
            legend: '{{state}}',
          },
        ]),
        graph('Instances by phase', 'short', [
          {
            expr: `count by (phase) (max by (namespace, name, phase) (gpu_rental_instance_info{${ACCOUNT}}))`,
            legend: '{{phase}}',
          },
        ]),
        graph('Time to running', 's', [
          {
            expr: `histogram_quantile(0.5, sum by (le) (rate(gpu_rental_boot_seconds_bucket{${ACCOUNT}}[1h])))`,
            legend: 'median',
          },
          {
            expr: `histogram_quantile(0.9, sum by (le) (rate(gpu_rental_boot_seconds_bucket{${ACCOUNT}}[1h])))`,
            legend: '90 %',
          },
        ]),
        graph('GPU utilization', 'percentunit', [
          {
            expr: 'max by (namespace, name) (gpu_rental_instance_gpu_utilization_ratio{namespace=~"$namespace"})',
            legend: '{{namespace}}/{{name}}',
          },
        ]),
        graph('Waiting for the marketplace', 'short', [
          { expr: account('gpu_rental_queued_instances'), legend: perAccount },
        ]),
        graph('Longest wait for the marketplace', 's', [
          { expr: account('gpu_rental_queue_longest_wait_seconds'), legend: perAccount },
        ]),
        graph('Rentals by outcome', 'ops', [
          {
            expr: `sum by (outcome) (rate(gpu_rental_rentals_total{${ACCOUNT}}[15m]))`,
            legend: '{{outcome}}',
          },
        ]),
        graph('Replacements by reason', 'ops', [
          {
            expr: `sum by (reason) (rate(gpu_rental_replacements_total{${ACCOUNT}}[1h]))`,
            legend: '{{reason}}',
          },
        ]),
        graph('Destroys by reason', 'ops', [
          { expr: `sum by (reason) (rate(gpu_rental_destroys_total{${ACCOUNT}}[1h]))`, legend: '{{reason}}' },
        ]),
      ],
    },
    {
      title: 'Groups',
      panels: [
        graph('Hot workers', 'short', [
          { expr: group('ready_workers'), legend: `${perGroup} ready` },
          { expr: group('desired_hot_workers'), legend: `${perGroup} desired` },
        ]),
        graph('Cold workers', 'short', [{ expr: group('cold_workers'), legend: perGroup }]),
        graph(
          'Load and capacity',
          'short',
          [
            { expr: group('load'), legend: `${perGroup} load` },
            { expr: group('capacity'), legend: `${perGroup} capacity` },
          ],
          'Work per second, in the unit of each group.',
        ),
        graph('Dollars per hour of groups', 'currencyUSD', [
          { expr: group('dollars_per_hour'), legend: perGroup },
        ]),
      ],
    },
    {
      title: 'Safety',
      panels: [
        stat('Breakers open', 'short', `sum(${account('gpu_rental_breaker_open')})`),
        stat('Orphaned machines', 'short', `sum(${account('gpu_rental_orphans')})`),
        stat(
          'Destroys that fail, per hour',
          'currencyUSD',
          'sum(gpu_rental_destroy_failing_dollars_per_hour)',
        ),
        stat(
          'Orphans destroyed in a day',
          'short',
          `sum(increase(gpu_rental_orphans_destroyed_total{${ACCOUNT}}[1d]))`,
        ),
      ],
    },
  ],
};

export const health: Dashboard = {
  file: 'operator',
  title: 'GPU rental: operator health',
  description: 'Reconciling, queues, both APIs, election.',
  variables: [
    {
      name: 'controller',
      query: `label_values(controller_runtime_reconcile_total{controller=~${OWN_CONTROLLERS}}, controller)`,
    },
  ],
  rows: [
    {
      title: 'Reconciling',
      panels: [
        stat('Leaders', 'short', 'sum(leader_election_master_status{name="gpu-rental-operator"})'),
        stat('Oldest list', 's', 'max(gpu_rental_list_age_seconds)'),
        graph('Reconciles by result', 'ops', [
          {
            expr: `sum by (controller, result) (rate(controller_runtime_reconcile_total{controller=~"$controller", controller=~${OWN_CONTROLLERS}}[5m]))`,
            legend: '{{controller}} {{result}}',
          },
        ]),
        graph('Reconcile duration, p99', 's', [
          {
            expr: `histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{controller=~"$controller", controller=~${OWN_CONTROLLERS}}[5m])))`,
            legend: '{{controller}}',
          },
        ]),
        graph('Errors', 'ops', [
          {
            expr: `sum by (controller) (rate(controller_runtime_reconcile_errors_total{controller=~"$controller", controller=~${OWN_CONTROLLERS}}[5m]))`,
            legend: '{{controller}}',
          },
        ]),
        graph('Workers in use', 'short', [
          {
            expr: `max by (controller) (controller_runtime_active_workers{controller=~"$controller", controller=~${OWN_CONTROLLERS}})`,
            legend: '{{controller}}',
          },
          {
            expr: `max by (controller) (controller_runtime_max_concurrent_reconciles{controller=~"$controller", controller=~${OWN_CONTROLLERS}})`,
            legend: '{{controller}} at most',
          },
        ]),
      ],
    },
    {
      title: 'Queues',
      panels: [
        graph('Depth', 'short', [
          { expr: `sum by (name) (workqueue_depth{name=~${OWN_CONTROLLERS}})`, legend: '{{name}}' },
        ]),
        graph('Wait, 99 %', 's', [
          {
            expr: `histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket{name=~${OWN_CONTROLLERS}}[5m])))`,
            legend: '{{name}}',
          },
        ]),
        graph('Longest running reconcile', 's', [
          {
            expr: `max by (name) (workqueue_longest_running_processor_seconds{name=~${OWN_CONTROLLERS}})`,
            legend: '{{name}}',
          },
        ]),
        graph('Retries', 'ops', [
          {
            expr: `sum by (name) (rate(workqueue_retries_total{name=~${OWN_CONTROLLERS}}[5m]))`,
            legend: '{{name}}',
          },
        ]),
      ],
    },
    {
      title: 'APIs',
      panels: [
        graph('Kubernetes requests', 'ops', [
          {
            expr: `sum by (method, code) (${ofOperator('rate(rest_client_requests_total[5m])')})`,
            legend: '{{method}} {{code}}',
          },
        ]),
        graph('Marketplace requests', 'ops', [
          {
            expr: 'sum by (method, route, code) (rate(gpu_rental_marketplace_requests_total[5m]))',
            legend: '{{method}} {{route}} {{code}}',
          },
        ]),
        graph('Marketplace latency, 99 %', 's', [
          {
            expr: 'histogram_quantile(0.99, sum by (route, le) (rate(gpu_rental_marketplace_request_duration_seconds_bucket[5m])))',
            legend: '{{route}}',
          },
        ]),
        graph('Wait for the rate limit', 's', [
          {
            expr: 'max by (namespace, account, class) (gpu_rental_pacing_wait_seconds)',
            legend: '{{namespace}}/{{account}} {{class}}',
          },
        ]),
        graph('List-watch failures', 'ops', [
          {
            expr: 'sum by (kind, error) (rate(gpu_rental_informer_failures_total[5m]))',
            legend: '{{kind}} {{error}}',
          },
        ]),
        stat(
          'Cache divergences',
          'short',
          'sum(gpu_rental_informer_divergences_total)',
          'Anything but 0 is a fault.',
        ),
      ],
    },
    {
      title: 'Process',
      panels: [
        graph('Memory', 'bytes', [
          { expr: ofOperator('process_resident_memory_bytes'), legend: '{{pod}} resident' },
          { expr: ofOperator('nodejs_heap_size_used_bytes'), legend: '{{pod}} heap' },
        ]),
        graph('Processor', 'short', [
          { expr: ofOperator('rate(process_cpu_seconds_total[5m])'), legend: '{{pod}} cores' },
        ]),
        graph('Event loop lag, 99 %', 's', [
          // Samples are 100 ms apart, and each contains that time.
          { expr: `(${ofOperator('nodejs_eventloop_lag_p99_seconds')}) - 0.1`, legend: '{{pod}}' },
        ]),
        {
          title: 'Versions',
          description: '',
          unit: 'short',
          kind: 'table',
          queries: [{ expr: 'count by (component, version, node) (gpu_rental_build_info)', legend: '' }],
        },
      ],
    },
    {
      title: 'Conditions',
      panels: [
        graph('GpuInstances not ready, by reason', 'short', [
          {
            expr: 'sum by (reason) (max without (pod, instance) (gpu_rental_gpuinstance_status_condition_count{type="Ready",status!="True"}))',
            legend: '{{reason}}',
          },
        ]),
        graph('EndpointGroups not ready, by reason', 'short', [
          {
            expr: 'sum by (reason) (max without (pod, instance) (gpu_rental_endpointgroup_status_condition_count{type="Ready",status!="True"}))',
            legend: '{{reason}}',
          },
        ]),
        graph('Deletions in progress', 's', [
          {
            expr: 'max by (namespace, name) (gpu_rental_gpuinstance_termination_current_time_seconds)',
            legend: '{{namespace}}/{{name}}',
          },
        ]),
      ],
    },
  ],
};
