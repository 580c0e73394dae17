import { isIP } from 'node:net';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import { type PullPlan, pullPlan, readJsonReply } from './http.ts';
import { readPrometheusReply } from './prometheus.ts';
import { type LoadRecord, SourceError } from './state.ts';

/** Where a worker is asked for its load. */
export interface PullTarget {
  readonly address: string;
  readonly port: number;
  readonly plan: PullPlan;
}

/** Where the load of a worker is read; rejects with `SourceError` where it has no such port. */
export function pullTarget({ spec }: EndpointGroup, worker: GpuInstance): PullTarget {
  const pull = spec.load.httpPull;
  const { publicAddress: address, ports = [] } = worker.status ?? {};
  const target = containerPort(worker, pull?.port);
  const mapped = ports.find((port) => port.containerPort === target && port.protocol === 'TCP');
  if (address === undefined || !mapped) {
    throw new SourceError('it has no public port for its load; set minDirectPorts and name the port');
  }
  return { address, port: mapped.publicPort, plan: pullPlan(pull) };
}

type PortName = NonNullable<LoadSource['httpPull']>['port'];

/** The named port, else the first one of TCP. */
function containerPort({ spec }: GpuInstance, port: PortName): number | undefined {
  const declared = (spec.ports ?? []).filter(({ protocol }) => protocol === 'TCP');
  if (port === undefined) return declared[0]?.containerPort;
  if (typeof port === 'number') return port;
  return declared.find(({ name }) => name === port)?.containerPort;
}

/** Scheme, host and port to connect to. */
export function originOf({ plan, port }: PullTarget, host: string): string {
  const scheme = plan.scheme === 'HTTPS' ? 'https' : 'http';
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Reads the reply as the plan says. Throws `FigureError`. */
export function readReply(text: string, plan: PullPlan, now: number): LoadRecord {
  return plan.format === 'JSON' ? readJsonReply(text, plan, now) : readPrometheusReply(text, plan, now);
}
