import { OWN_CONTROLLERS } from './own-series.ts';

/** A figure that Prometheus computes for dashboards and alerts. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

const REFUSED = 'rate(gpu_rental_gateway_refusals_total{code!="invalid_api_key"}[15m])';
const ANSWERED = (matchers: string) => `rate(gpu_rental_gateway_requests_total${matchers}[15m])`;
const FAILED = `${REFUSED} or ${ANSWERED('{code=~"5.."}')}`;

/** Named level:metric:operations, as Prometheus recommends. */
export const recordingRules: readonly RecordingRule[] = [
  {
    record: 'account:gpu_rental_dollars_per_hour:sum',
    expr: 'sum by (namespace, account) (max without (pod, instance) (gpu_rental_dollars_per_hour))',
  },
  {
    record: 'account:gpu_rental_dollars_spent:increase1d',
    expr: 'sum by (namespace, account) (increase(gpu_rental_dollars_spent_total[1d]))',
  },
  {
    record: 'account:gpu_rental_rentals_failed:ratio_rate15m',
    expr: 'sum by (namespace, account) (rate(gpu_rental_rentals_total{outcome!="rented"}[15m])) / sum by (namespace, account) (rate(gpu_rental_rentals_total[15m]))',
  },
  {
    record: 'account:gpu_rental_boot_seconds:p90_1h',
    expr: 'histogram_quantile(0.9, sum by (namespace, account, le) (rate(gpu_rental_boot_seconds_bucket[1h])))',
  },
  {
    record: 'route:gpu_rental_marketplace_requests_failed:ratio_rate5m',
    expr: 'sum by (route) (rate(gpu_rental_marketplace_requests_total{code=~"5..|429|<error>"}[5m])) / sum by (route) (rate(gpu_rental_marketplace_requests_total[5m]))',
  },
  {
    record: 'controller:controller_runtime_reconcile_errors:ratio_rate15m',
    expr: `sum by (controller) (rate(controller_runtime_reconcile_errors_total{controller=~${OWN_CONTROLLERS}}[15m])) / sum by (controller) (rate(controller_runtime_reconcile_total{controller=~${OWN_CONTROLLERS}}[15m]))`,
  },
  {
    // A wrong key is the caller's own failure, and in neither part.
    record: 'group:gpu_rental_gateway_failed:ratio_rate15m',
    expr: `sum by (namespace, name) (${FAILED}) / sum by (namespace, name) (${REFUSED} or ${ANSWERED('')})`,
  },
];
