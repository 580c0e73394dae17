import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../../lib/time.ts';
import type { ScalingOptions } from './targets.ts';

/** The options of a spec as numbers: loads in units per second, times in seconds. The CRD has checked them. */
export function scalingOptions(spec: EndpointGroupSpec): ScalingOptions {
  return {
    minLoad: Number(spec.minLoad),
    minColdLoad: Number(spec.minColdLoad),
    targetUtilization: spec.targetUtilizationPercent / 100,
    coldMultiplier: Number(spec.coldMultiplier),
    coldWorkers: spec.coldWorkers,
    maxWorkers: spec.maxWorkers,
    maxQueueSeconds: seconds(spec.maxQueueTime),
    targetQueueSeconds: seconds(spec.targetQueueTime),
    idle: idleRule(spec),
  };
}

function seconds(duration: string): number {
  return (parseDuration(duration) ?? 0) / 1000;
}

function idleRule({ scaleToZero, inactivityTimeout }: EndpointGroupSpec): ScalingOptions['idle'] {
  if (scaleToZero === 'Never') return { type: 'never' };
  const ms = parseDuration(inactivityTimeout);
  return ms === undefined || ms === 0 ? { type: 'load' } : { type: 'after', ms };
}

/** Workers that may be out of service for a new template: a number, or a share of the hot ones, at least one. */
export function maxUnavailable(spec: EndpointGroupSpec, hot: number): number | undefined {
  if (spec.updateStrategy.type === 'OnDelete') return undefined;
  const { maxUnavailable: allowed } = spec.updateStrategy;
  if (typeof allowed === 'number') return Math.max(1, allowed);
  return Math.max(1, Math.floor((Number.parseInt(allowed, 10) * hot) / 100));
}
