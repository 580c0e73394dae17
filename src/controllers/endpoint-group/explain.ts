import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import type { ScalingRule } from './autoscale/bounds.ts';

type Terms = NonNullable<EndpointGroupStatus['autoscaling']>;

/** What each rule means, for people. */
export const RULES: Readonly<Record<ScalingRule, string>> = {
  Load: 'the load at the target utilisation decides',
  Queue: 'the waiting work decides: it is to be gone within targetQueueTime',
  Floor: 'minLoad decides, since the load is below it',
  Replicas: 'spec.replicas decides, the load is not used',
  MeasureFirst: 'one worker is measured first, since no performance is known',
  Inactivity: 'one worker stays until inactivityTimeout has passed without work',
  NeverZero: 'one worker stays, since scaleToZero is Never',
  NotReadyYet: 'one worker stays, since the group has not been ready once',
  Wake: 'a wake was asked for',
  DownWindow: 'the largest need of the last 300 s decides, so that nothing flaps',
  Panic: 'a burst within the last 60 s keeps every hot worker',
  RampUp: 'at most as many workers are added in one tick as are hot, and two at least',
  MaxWorkers: 'maxWorkers decides',
  MetricsMissing: 'no believable figures arrive, so nothing shrinks',
};

function isRule(text: string): text is ScalingRule {
  return Object.hasOwn(RULES, text);
}

/** The decision in one sentence, as the status carries it. */
export function sentenceOf(terms: Omit<Terms, 'explanation'>): string {
  const rule = isRule(terms.rule) ? RULES[terms.rule] : terms.rule;
  const needs = `Load ${terms.load}/s and ${terms.queue} waiting need ${terms.hotCapacity}/s hot, ${terms.totalCapacity}/s in all`;
  const workers = `${terms.hotNeed} and ${terms.totalNeed} workers`;
  return `${needs}: ${workers}. Wanted are ${terms.hot} hot, ${terms.total} in all: ${rule}.`;
}

/** Every term of the last decision of a group with its formula, and the rule that decided; one line each. */
export function explainGroup({ spec, status }: Pick<EndpointGroup, 'spec' | 'status'>): readonly string[] {
  const terms = status?.autoscaling;
  if (!terms) return ['Nothing has been decided yet.'];
  const share = spec.targetUtilizationPercent;
  const { stabilizedHotCapacity, stabilizedTotalCapacity } = terms;
  const rule = isRule(terms.rule) ? RULES[terms.rule] : terms.rule;
  return [
    `at              ${terms.at}`,
    `load            ${terms.load} /s over 60 s, ${terms.burstLoad} /s over 10 s, at most ${terms.longLoad} /s in the last hour`,
    `waiting         ${terms.queue}`,
    `ready capacity  ${terms.capacity} /s, one worker ${terms.perf ?? 'unknown'} /s`,
    `rate            max(load ${terms.load}, minLoad ${spec.minLoad}) / ${share} % = ${terms.rateCapacity} /s`,
    `queue           waiting ${terms.queue} / targetQueueTime ${spec.targetQueueTime} = ${terms.queueCapacity} /s`,
    `hot             max(rate, queue) = ${terms.hotCapacity} /s`,
    `hot and cold    max(${spec.coldMultiplier} × max(longest load ${terms.longLoad}, minLoad ${spec.minLoad}) / ${share} %, minColdLoad ${spec.minColdLoad} / ${share} %, hot) = ${terms.totalCapacity} /s`,
    // Statuses of earlier versions do not have it.
    ...(stabilizedHotCapacity === undefined
      ? []
      : [
          `down window     at most ${stabilizedHotCapacity} /s hot and ${stabilizedTotalCapacity} /s in all within 300 s`,
        ]),
    `needed          ${terms.hotNeed} hot, max(workers for ${terms.totalCapacity} /s, coldWorkers ${spec.coldWorkers}, hot) = ${terms.totalNeed} in all`,
    `wanted          ${terms.hot} hot, ${terms.total - terms.hot} cold, ${terms.total} in all (maxWorkers ${spec.maxWorkers})`,
    `rule            ${terms.rule}: ${rule}`,
  ];
}
