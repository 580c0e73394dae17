import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { counted } from '../../lib/plural.ts';
import type { ScalingRule } from './autoscale/bounds.ts';

type Terms = NonNullable<EndpointGroupStatus['autoscaling']>;

/** Origin of the target by rule, as the end of a sentence. */
export const RULES: Readonly<Record<ScalingRule, string>> = {
  Load: 'from load at target utilization',
  Queue: 'to clear waiting work within targetQueueTime',
  Floor: 'from minLoad, which exceeds the load',
  Replicas: 'from spec.replicas; the load is ignored',
  MeasureFirst: 'one worker to measure performance',
  Inactivity: 'one worker kept until inactivityTimeout passes without work',
  NeverZero: 'one worker kept, since scaleToZero is Never',
  NotReadyYet: 'one worker kept, since the group was never ready',
  Wake: 'from a wake request',
  DownWindow: 'from the maximum need of the last 300 s',
  Panic: 'all hot workers kept for 60 s after a burst',
  RampUp: 'limited per tick to double the hot workers or two more',
  MaxWorkers: 'limited by maxWorkers',
  MetricsMissing: 'kept while load figures are missing or invalid',
};

function isRule(text: string): text is ScalingRule {
  return Object.hasOwn(RULES, text);
}

const originOf = (rule: string): string => (isRule(rule) ? RULES[rule] : rule);

/** Returns the target and its rule as one sentence, for status and events. */
export function targetText({ hot, total, rule }: Pick<Terms, 'hot' | 'total' | 'rule'>): string {
  return `Target: ${hot} hot, ${total} total, ${originOf(rule)}.`;
}

/** Returns the decision with its figures, for the status. */
export function explanationOf(terms: Omit<Terms, 'explanation'>): string {
  const hot = `${terms.hotCapacity}/s hot (${counted(terms.hotNeed, 'worker')})`;
  const total = `${terms.totalCapacity}/s total (${counted(terms.totalNeed, 'worker')})`;
  return `${targetText(terms)} Load ${terms.load}/s with ${terms.queue} waiting needs ${hot}, ${total}.`;
}

/** Returns each term of a group's last decision with its formula, and its rule, one line each. */
export function explainGroup({ spec, status }: Pick<EndpointGroup, 'spec' | 'status'>): readonly string[] {
  const terms = status?.autoscaling;
  if (!terms) return ['No scaling decision yet.'];
  const share = spec.targetUtilizationPercent;
  const { stabilizedHotCapacity, stabilizedTotalCapacity } = terms;
  return [
    `at              ${terms.at}`,
    `load            ${terms.load} /s over 60 s, ${terms.burstLoad} /s over 10 s, max ${terms.longLoad} /s in the last hour`,
    `waiting         ${terms.queue}`,
    `ready capacity  ${terms.capacity} /s; ${terms.perf ?? 'unknown'} /s per worker`,
    `rate            max(load ${terms.load}, minLoad ${spec.minLoad}) / ${share} % = ${terms.rateCapacity} /s`,
    `queue           waiting ${terms.queue} / targetQueueTime ${spec.targetQueueTime} = ${terms.queueCapacity} /s`,
    `hot             max(rate, queue) = ${terms.hotCapacity} /s`,
    `total           max(${spec.coldMultiplier} × max(max load ${terms.longLoad}, minLoad ${spec.minLoad}) / ${share} %, minColdLoad ${spec.minColdLoad} / ${share} %, hot) = ${terms.totalCapacity} /s`,
    // Statuses of earlier versions do not contain the down window.
    ...(stabilizedHotCapacity === undefined
      ? []
      : [
          `down window     max ${stabilizedHotCapacity} /s hot, ${stabilizedTotalCapacity} /s total in the last 300 s`,
        ]),
    `needed          ${terms.hotNeed} hot, max(workers for ${terms.totalCapacity} /s, coldWorkers ${spec.coldWorkers}, hot) = ${terms.totalNeed} total`,
    `target          ${terms.hot} hot, ${terms.total - terms.hot} cold, ${terms.total} total (maxWorkers ${spec.maxWorkers})`,
    `rule            ${terms.rule}: ${originOf(terms.rule)}`,
  ];
}
