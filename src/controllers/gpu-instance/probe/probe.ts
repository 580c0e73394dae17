import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { Clock, Timer } from '../../../lib/clock.ts';
import { parseTime } from '../../../lib/rfc3339.ts';
import type { ProbeView } from '../views.ts';

/** What is asked of a machine. */
export interface ProbeTarget {
  /** As the marketplace names it; whoever connects maps it where a map is configured. */
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly http:
    | {
        readonly scheme: 'HTTP' | 'HTTPS';
        readonly path: string;
        readonly headers: readonly { readonly name: string; readonly value: string }[];
      }
    | undefined;
}

/** Asks a machine once: undefined where it answers, else what is wrong in our own words. Never throws. */
export type Prober = (target: ProbeTarget) => Promise<string | undefined>;

interface Schedule {
  /** Machine and probe that it was made for. */
  readonly identity: string;
  timer: Timer | undefined;
  successes: number;
  failures: number;
  view: ProbeView | undefined;
}

/** Where the probe of an object leads; undefined while there is none, or while its address is not known. */
export function probeTarget({ spec, status }: GpuInstance): ProbeTarget | undefined {
  const { readinessProbe: probe } = spec;
  const action = probe?.httpGet ?? probe?.tcpSocket;
  if (!probe || !action || status?.runningAt === undefined) return undefined;
  const address = addressOf(spec, status, action.port);
  return address && { ...address, timeoutMs: probe.timeoutSeconds * 1000, http: httpOf(probe) };
}

type Probe = NonNullable<GpuInstance['spec']['readinessProbe']>;

function httpOf({ httpGet }: Probe): ProbeTarget['http'] {
  return httpGet && { scheme: httpGet.scheme, path: httpGet.path, headers: httpGet.httpHeaders ?? [] };
}

/** The public side of a declared port; of SSH where the port is not declared. */
function addressOf(
  spec: GpuInstance['spec'],
  status: NonNullable<GpuInstance['status']>,
  port: string | number,
): { readonly host: string; readonly port: number } | undefined {
  const declared = spec.ports?.find(({ name, containerPort }) => name === port || containerPort === port);
  if (!declared) return status.ssh;
  const mapped = status.ports?.find(
    ({ containerPort, protocol }) =>
      containerPort === declared.containerPort && protocol === declared.protocol,
  );
  if (!mapped || status.publicAddress === undefined) return undefined;
  return { host: status.publicAddress, port: mapped.publicPort };
}

/** Runs readiness probes on their own clockwork, and tells when an answer changes what is known. */
export class ProbeSchedules {
  readonly #clock: Clock;
  readonly #prober: Prober;
  readonly #onChange: (key: string) => void;
  readonly #schedules = new Map<string, Schedule>();

  constructor(options: { clock: Clock; prober: Prober; onChange: (key: string) => void }) {
    this.#clock = options.clock;
    this.#prober = options.prober;
    this.#onChange = options.onChange;
  }

  /** What the probe of this object's present machine said; begins to ask where nobody does yet. */
  view(key: string, object: GpuInstance): ProbeView | undefined {
    const target = object.status?.actualStatus === 'running' ? probeTarget(object) : undefined;
    if (!target) {
      this.forget(key);
      return undefined;
    }
    const identity = JSON.stringify([
      object.metadata.uid,
      object.status?.instanceId,
      target,
      object.spec.readinessProbe,
    ]);
    const known = this.#schedules.get(key);
    if (known?.identity === identity) return known.view;
    this.forget(key);
    const schedule: Schedule = { identity, timer: undefined, successes: 0, failures: 0, view: undefined };
    this.#schedules.set(key, schedule);
    this.#arm(key, { schedule, target, object }, this.#initialDelay(object));
    return undefined;
  }

  forget(key: string): void {
    this.#schedules.get(key)?.timer?.cancel();
    this.#schedules.delete(key);
  }

  stop(): void {
    for (const key of [...this.#schedules.keys()]) this.forget(key);
  }

  #initialDelay({ spec, status }: GpuInstance): number {
    const from = parseTime(status?.runningAt) ?? this.#clock.now();
    return Math.max(0, from + (spec.readinessProbe?.initialDelaySeconds ?? 0) * 1000 - this.#clock.now());
  }

  #arm(key: string, probed: Probed, delayMs: number): void {
    probed.schedule.timer = this.#clock.setTimer(delayMs, () => void this.#ask(key, probed), {
      background: true,
    });
  }

  async #ask(key: string, probed: Probed): Promise<void> {
    const problem = await this.#prober(probed.target);
    if (this.#schedules.get(key) !== probed.schedule) return;
    const before = probed.schedule.view;
    count(probed, problem);
    const after = probed.schedule.view;
    if (before?.ready !== after?.ready || before?.detail !== after?.detail) this.#onChange(key);
    this.#arm(key, probed, (probed.object.spec.readinessProbe?.periodSeconds ?? 10) * 1000);
  }
}

interface Probed {
  readonly schedule: Schedule;
  readonly target: ProbeTarget;
  readonly object: GpuInstance;
}

/** Thresholds as in a Pod: so many in a row change the state. */
function count({ schedule, object }: Probed, problem: string | undefined): void {
  const { successThreshold = 1, failureThreshold = 3 } = object.spec.readinessProbe ?? {};
  schedule.successes = problem === undefined ? schedule.successes + 1 : 0;
  schedule.failures = problem === undefined ? 0 : schedule.failures + 1;
  if (problem === undefined) {
    if (schedule.successes >= successThreshold) schedule.view = { ready: true, detail: '' };
  } else if (schedule.failures >= failureThreshold || !schedule.view) {
    schedule.view = { ready: false, detail: problem };
  }
}
