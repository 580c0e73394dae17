import { describe, expect, test } from 'vitest';
import type { GatewayGroupReport } from '../../src/api/gateway-report.ts';
import { SimulatedGroup, type SimulatedGroupOptions } from '../builders/simulated-group.ts';
import type { JsonObject } from '../simulation/memory-kube/json.ts';
import { NAMESPACE } from '../simulation/world.ts';

const FLAGS = {
  metricsBindAddress: ':8080',
  gatewayReports: 'unauthenticated',
  gatewayUrl: 'http://gateway.example',
};
const WORKER_MADE = /^POST .*\/gpuinstances$/;
const STATUS_WRITE = /^PUT .*\/endpointgroups\/llm\/status$/;

/** A picker that reports to one process of the operator. */
class SimulatedPicker {
  readonly #life: SimulatedGroup;
  readonly #name: string;
  readonly figures = { arrivedWork: 0, overestimatedWork: 0, refusedWork: 0, heldRequests: 0, heldWork: 0 };
  workers: GatewayGroupReport['workers'] = [];
  /** The process that it reports to. */
  place = 0;
  #isFirst = true;

  constructor(life: SimulatedGroup, name = 'picker-a') {
    this.#life = life;
    this.#name = name;
  }

  /** Adds waiting requests of work 1. */
  hold(requests: number): void {
    this.figures.arrivedWork += requests;
    this.figures.heldRequests += requests;
    this.figures.heldWork += requests;
  }

  /** Removes all waiting requests. */
  release(): void {
    this.figures.heldRequests = 0;
    this.figures.heldWork = 0;
  }

  report(): number {
    const group = { namespace: NAMESPACE, name: 'llm', ...this.figures, workers: this.workers };
    const { gatewayIntake } = this.#life.world.processes[this.place]?.operator ?? {};
    // It starts just now: the connection is refused.
    if (!gatewayIntake) return 0;
    const answer = gatewayIntake.take({ picker: this.#name, first: this.#isFirst, groups: [group] });
    if (answer.status === 200) this.#isFirst = false;
    return answer.status;
  }
}

interface Started {
  readonly life: SimulatedGroup;
  readonly picker: SimulatedPicker;
  /** Lets time pass in which these pickers, the first if none is named, report every second. */
  readonly pass: (seconds: number, pickers?: readonly SimulatedPicker[]) => Promise<void>;
  readonly until: (what: string, holds: () => boolean, seconds?: number) => Promise<void>;
}

/** Starts a group with a gateway at zero, whose picker reports. */
async function started(spec: JsonObject = {}, options: SimulatedGroupOptions = {}): Promise<Started> {
  const life = new SimulatedGroup({ flags: FLAGS, ...options });
  life.begin({
    gateway: {},
    load: { type: 'Gateway' },
    drainTimeout: '10m',
    ...spec,
  });
  const picker = new SimulatedPicker(life);
  const pass = async (seconds: number, pickers: readonly SimulatedPicker[] = [picker]) => {
    for (let second = 0; second < seconds; second += 1) {
      for (const one of pickers) one.report();
      await life.pass(1);
    }
  };
  const until = async (what: string, holds: () => boolean, seconds = 1200) => {
    for (let second = 0; second < seconds; second += 1) {
      if (holds()) return;
      await pass(1);
    }
    throw new Error(`Not within ${seconds} s: ${what}; ${JSON.stringify(life.group()?.status)}`);
  };
  await life.pass(30);
  await until('it knows its gateway', () => life.condition('GatewayConnected')?.status === 'True', 30);
  return { life, picker, pass, until };
}

/** Starts a group that serves and whose requests have finished. */
async function serving(spec: JsonObject = {}): Promise<Started & { readonly name: string }> {
  const bench = await started(spec);
  const { life, picker, until } = bench;
  picker.hold(1);
  await until('one serves', () => life.status().ready === 1);
  picker.release();
  return { ...bench, name: life.workers()[0]?.metadata.name ?? '' };
}

const slicesOf = (life: SimulatedGroup) =>
  life.world.kube.store
    .all(life.world.kube.kind('endpointslices'))
    .map((slice) => (slice as { endpoints?: readonly { conditions: unknown }[] }).endpoints?.[0]?.conditions);

describe('a request that waits at zero', () => {
  test('has a worker made within a quarter of a second, and one for the burst', async () => {
    const { life, picker, pass } = await started();
    await life.pass(3.3);
    const at = life.world.now;
    expect(life.callsTo(WORKER_MADE)).toEqual([]);
    picker.hold(1);
    expect(picker.report()).toBe(200);
    await life.pass(0.25);
    expect(life.callsTo(WORKER_MADE).map((call) => call.at - at < 250)).toEqual([true]);
    picker.hold(99);
    await pass(9);
    expect(life.callsTo(WORKER_MADE)).toHaveLength(1);
  });

  test('has others made for what is too much for one', async () => {
    const { life, picker, until } = await started();
    picker.hold(5000);
    await until('the work decides', () => life.workers().length >= 5, 30);
    expect(life.status().autoscaling).toMatchObject({ queue: '5000' });
  });

  test('is said to be blocked where no offer is cheap enough', async () => {
    const offers = [{ maxPricePerHour: '0.0001' }];
    const template = { spec: { image: 'a/b:1', offers, ports: [{ name: 'http', containerPort: 8000 }] } };
    const { life, picker, until } = await started({ template });
    expect(life.condition('WorkersBlocked')).toBeUndefined();
    picker.hold(1);
    await until('it is told', () => life.condition('WorkersBlocked') !== undefined, 5);
    expect(life.condition('WorkersBlocked')).toMatchObject({ status: 'True', reason: 'NoOffers' });
    expect(life.rentals()).toBe(0);
  });
});

describe('a worker with a request of its gateway', () => {
  test('finishes it before it goes, with a slice that says so', async () => {
    const { life, picker, pass, until, name } = await serving();
    picker.workers = [{ name, requests: 1, work: 1 }];
    await until('it is to go', () => life.status().draining === 1);
    await pass(120);
    expect(life.workers()[0]?.spec.powerState).toBe('Running');
    expect(slicesOf(life)).toEqual([{ ready: false, serving: true, terminating: true }]);
    picker.workers = [];
    await until('it is to stop', () => life.workers()[0]?.spec.powerState === 'Stopped', 30);
    await pass(5);
    expect(slicesOf(life)).toEqual([]);
  });

  test('keeps it while the operator is replaced, whatever the new one learns first', async () => {
    const { life, picker, pass, until, name } = await serving();
    const other = new SimulatedPicker(life, 'picker-b');
    await until('it is to go', () => {
      other.workers = [{ name, requests: 1, work: 1 }];
      other.report();
      return life.status().draining === 1;
    });
    const [former] = life.world.processes;
    if (!former) throw new Error('There is no process.');
    life.world.crash(former.machine, 'in a test');
    await life.until('it leads', () => picker.report() === 200, 60);
    const powerState = () => life.workers().map(({ spec }) => spec.powerState);
    // The one that has the request is the later one to find the new leader.
    await pass(10);
    await pass(60, [picker, other]);
    expect([powerState(), life.status().draining]).toEqual([['Running'], 1]);
    other.workers = [];
    await pass(30, [picker, other]);
    expect(powerState()).toEqual(['Stopped']);
  });
});

describe('what pickers say', () => {
  test('rents no more than the group may have, be it a lie', async () => {
    const { life, picker, pass } = await started({ maxWorkers: 3 });
    picker.hold(1e9);
    for (let name = 0; name < 20; name += 1) {
      const liar = new SimulatedPicker(life, `liar-${name}`);
      liar.hold(1e9);
      await pass(10, [picker, liar]);
    }
    expect([life.mostBilling, life.workers().length]).toEqual([3, 3]);
  });

  test('is for the process that leads', async () => {
    const { life, picker } = await started();
    life.world.startProcess();
    await life.pass(20);
    picker.place = 1;
    expect(picker.report()).toBe(503);
    picker.place = 0;
    expect(picker.report()).toBe(200);
  });

  test('costs no write while requests come and go at a steady pace', async () => {
    const { life, picker, pass, until } = await started();
    picker.hold(1);
    await until('one serves', () => life.status().ready === 1);
    picker.release();
    const step = async () => {
      picker.figures.arrivedWork += 50;
      picker.workers = [{ name: life.workers()[0]?.metadata.name ?? '', requests: 5, work: 50 }];
      await pass(1);
    };
    for (let second = 0; second < 500; second += 1) await step();
    const before = life.callsTo(STATUS_WRITE).length;
    for (let second = 0; second < 300; second += 1) await step();
    expect(life.callsTo(STATUS_WRITE)).toHaveLength(before);
    expect(life.status().gateway).toMatchObject({
      pickers: 1,
      url: `http://gateway.example/${NAMESPACE}/llm`,
    });
  });

  test('ends with silence, which keeps the workers', async () => {
    const { life } = await serving();
    await life.pass(700);
    expect(life.status()).toMatchObject({ replicas: 1, ready: 1, gateway: { pickers: 0 } });
    expect(life.condition('GatewayConnected')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
    expect(life.condition('MetricsAvailable')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
  });

  test('is missed with the reason where the operator takes no reports', async () => {
    const life = new SimulatedGroup();
    life.begin({ gateway: {}, load: { type: 'Gateway' } });
    await life.until('it is told', () => life.condition('MetricsAvailable')?.status === 'False', 120);
    expect(life.condition('MetricsAvailable')?.message).toContain('--gateway-reports');
    expect(life.condition('GatewayConnected')).toMatchObject({
      status: 'Unknown',
      reason: 'LoadUnavailable',
    });
  });
});
