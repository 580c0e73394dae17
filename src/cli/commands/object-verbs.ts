import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  annotations,
  endpointGroupResource,
  gpuInstanceResource,
  labels,
  marketplaceAccountResource,
} from '../../api/v1alpha1/names.ts';
import { billedPerHour } from '../../instance/cost.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { agreeing } from '../../lib/plural.ts';
import { formatTime, parseTime as parseTimestamp } from '../../lib/time.ts';
import { ageText, hourlyText } from '../../views/amounts.ts';
import type { Command } from '../command.ts';
import { failed, timedOut } from '../command-error.ts';
import { meansAll } from '../fleet.ts';
import { type ChangedObject, type ChangeMeans, objectChangeCommand, patchObject } from '../object-change.ts';
import { accountOf, getObject } from '../objects/cluster-objects.ts';
import { parseTime, switchOption, textOption } from '../option-values.ts';
import { dueText, holding, starting, stopping } from '../power-change.ts';
import { YES } from '../secrets/prompt.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

type InstanceTarget = ChangedObject<GpuInstance>;

/** Stops the machines of objects: spec.powerState becomes Stopped. */
const stopNamed = powerCommand({
  verb: 'stop',
  power: stopping,
  description:
    'Sets spec.powerState: Stopped. The machine keeps its disk, which bills, and gives its GPU back: a later start fails if someone else rents it by then. If Git holds the object, change powerState there, or a sync starts the machine again. A machine without an object: gpu-rent stop instance ID.',
});

/** Stops named objects, or with `--all` every machine of a namespace or of all. */
export const stopCommand: Command = {
  ...stopNamed,
  examples: [...(stopNamed.examples ?? []), 'gpu-rent stop --all -A', 'gpu-rent stop --all -n team --yes'],
  args: [{ name: '[object...]', description: 'gpui/name.' }],
  options: [
    {
      flags: '--all',
      description:
        'Every machine of the namespace, of all with -A: asks, pauses groups, stops their workers too, and prints what still bills.',
    },
    YES,
  ],
  async run(input, context) {
    if (!meansAll(input, 'stop')) return stopNamed.run(input, context);
    return (await import('./stop-all.ts')).stopAll(input, context);
  },
};

/** Starts the machines of stopped objects: spec.powerState becomes Running. */
export const startCommand = powerCommand({
  verb: 'start',
  power: starting,
  description:
    'Sets spec.powerState: Running; without a machine one is rented. After an end for idleness (spec.idle), or its warning, it also sets the annotation gpurental.dev/idle-extend-until, so that the machine may be idle for spec.idle.after from now on. gpu-rent wait gpui/NAME waits for it. A machine without an object: gpu-rent start instance ID.',
});

interface Powering {
  readonly verb: 'stop' | 'start';
  readonly power: (target: InstanceTarget, now: number) => ReturnType<typeof stopping>;
  readonly description: string;
}

function powerCommand({ verb, power, description }: Powering): Command {
  return objectChangeCommand<GpuInstance>({
    ...{ verb, description, byId: `${verb} instance` },
    kinds: [gpuInstanceResource],
    examples: [`gpu-rent ${verb} gpui/trainer`, `gpu-rent ${verb} gpui trainer tester -n team`],
    check(target) {
      refuseObserved(target, verb);
      refuseWorker(target, verb);
    },
    async change(target, means) {
      const { patch, did } = power(target, systemClock.now());
      if (patch) await patchObject(means, target, patch);
      return did;
    },
  });
}

/** Restarts the containers of objects' machines; their disks stay. */
export const restartCommand = objectChangeCommand<GpuInstance>({
  verb: 'restart',
  byId: 'reboot instance',
  description:
    "Restarts the container on its machine, through the marketplace and with the account's key. The disk stays, and so does the machine: gpu-rent replace rents another one.",
  kinds: [gpuInstanceResource],
  examples: ['gpu-rent restart gpui/trainer'],
  optionSets: ['marketplace'],
  check(target) {
    machineOf(target);
    const { phase } = target.object.status ?? {};
    if (phase === 'Stopped')
      throw failed(
        `${target.shown} is stopped: it has no running container to restart.`,
        `Start it: gpu-rent start ${target.shown}`,
      );
  },
  async change(target, { cluster, input, context }) {
    const id = machineOf(target);
    const account = await accountOf(cluster, target.object);
    const access = await accountTarget(cluster, account, { input, context });
    await withMarketplaceAt(access, { input, context }, ({ client }) => client.instances.reboot(id));
    return `restarted (machine ${id})`;
  },
});

/** Requests another machine in place of the present one, which is destroyed. */
export const replaceCommand = objectChangeCommand<GpuInstance>({
  verb: 'replace',
  byId: 'destroy instance',
  description:
    'The present machine is destroyed with its disk, then another is rented by the same spec. Asks first; without a terminal it needs --yes. The request names the present machine: if it is gone by then, its successor is kept. stop and hold withdraw the request.',
  kinds: [gpuInstanceResource],
  examples: ['gpu-rent replace gpui/trainer', 'gpu-rent replace gpui/trainer --yes'],
  check(target) {
    refuseObserved(target, 'replace');
    machineOf(target);
    const { object, shown } = target;
    const { name, namespace } = object.metadata;
    if (object.metadata.annotations?.[annotations.hold] !== undefined)
      throw failed(
        `${shown} is on hold: its machine is not replaced.`,
        `End the hold: gpu-rent hold ${shown} --release -n ${namespace}`,
      );
    if (object.spec.paused)
      throw failed(
        `${shown} is paused: its machine is not replaced.`,
        `End the pause: gpu-rent resume ${shown} -n ${namespace}`,
      );
    if (object.spec.powerState === 'Stopped')
      throw failed(
        `${shown} is stopped: its machine is not replaced, and its disk is kept.`,
        `Start it first: gpu-rent start ${shown} -n ${namespace}`,
      );
    if (rentedAtOf(object) === undefined)
      throw failed(
        `${shown}: the operator has not recorded yet when its machine was rented.`,
        `Try again when it runs: gpu-rent wait gpui/${name} -n ${namespace}`,
      );
  },
  question: (targets) =>
    `Replace ${targets.map(machineText).join(', ')}? Everything on ${agreeing(targets.length, 'its disk', 'their disks')} is lost.`,
  async change(target, means) {
    // Later than the rental of the present machine, and earlier than that of any successor, so it identifies the
    // present machine.
    const at = formatTime((rentedAtOf(target.object) ?? 0) + 1000);
    // A concurrent stop or hold takes precedence.
    await patchObject(means, target, { annotations: { [annotations.replaceAt]: at }, onlyAsRead: true });
    return `machine ${machineOf(target)} will be replaced`;
  },
});

/** Wakes a cold worker of groups. */
export const wakeCommand = objectChangeCommand<EndpointGroup>({
  verb: 'wake',
  description:
    'Requests one hot worker from the group now, as a request would: a cold worker is started, or one is rented. The bounds and limits of the group still apply.',
  kinds: [endpointGroupResource],
  examples: ['gpu-rent wake epg/chat'],
  check({ object, shown }) {
    if (!object.spec.pause.scaleUp) return;
    throw failed(
      `${shown} is paused: no worker is woken.`,
      `End the pause: gpu-rent resume ${shown} -n ${object.metadata.namespace}`,
    );
  },
  async change(target, means) {
    await patchObject(means, target, { annotations: { [annotations.wakeAt]: requestText() } });
    return 'requested a wake of one worker';
  },
});

/** Protects the machines of objects from replacement. */
export const holdCommand = objectChangeCommand<GpuInstance>({
  verb: 'hold',
  description:
    'Sets the annotation gpurental.dev/hold: the machine is neither replaced nor destroyed, whatever its state. Deletion of the object, maxLifetime and maxTotalCost still end it.',
  kinds: [gpuInstanceResource],
  examples: ['gpu-rent hold gpui/trainer', 'gpu-rent hold gpui/trainer --release'],
  options: [{ flags: '--release', description: 'End the hold.' }],
  async change(target, means) {
    if (switchOption(means.input.options, '--release')) {
      await patchObject(means, target, { annotations: { [annotations.hold]: null } });
      return `released${dueText(target.object, 'now')}`;
    }
    const { patch, did } = holding(target);
    if (patch) await patchObject(means, target, patch);
    return did;
  },
});

/** Requests a reconcile of objects now. */
export const reconcileCommand = objectChangeCommand<GpuInstance | EndpointGroup | MarketplaceAccount>({
  verb: 'reconcile',
  alsoDeleting: true,
  description:
    'Sets the annotation gpurental.dev/requested-at and waits until the operator has seen it. For an account, the operator also checks the key again. Exit code 4 if that takes longer than --timeout.',
  kinds: [gpuInstanceResource, endpointGroupResource, marketplaceAccountResource],
  examples: ['gpu-rent reconcile gpui/trainer', 'gpu-rent reconcile gpuacct/default --no-wait'],
  options: [
    { flags: '--timeout <time>', description: 'Time limit for each object. Default: 1m.' },
    { flags: '--no-wait', description: 'Send the request without waiting.' },
  ],
  async change(target, means) {
    const { options } = means.input;
    const timeoutMs = parseTime(textOption(options, '--timeout') ?? '1m', '--timeout');
    const asked = requestText();
    await patchObject(means, target, { annotations: { [annotations.requestedAt]: asked } });
    if (options.wait === false) return 'asked to reconcile';
    await untilSeen(target, { means, asked, timeoutMs });
    return 'reconciled';
  },
});

const POLL_EVERY_MS = 500;

interface Awaiting {
  readonly means: ChangeMeans;
  readonly asked: string;
  readonly timeoutMs: number;
}

/** Waits until the operator echoes the request in the status. */
async function untilSeen(
  { resource, object, shown }: ChangedObject<GpuInstance | EndpointGroup | MarketplaceAccount>,
  { means: { cluster, context }, asked, timeoutMs }: Awaiting,
): Promise<void> {
  const begun = systemClock.monotonic();
  for (;;) {
    const { status } = await getObject<typeof object>(cluster, resource, object.metadata.name);
    if (status?.requestedAt === asked) return;
    if (systemClock.monotonic() - begun + POLL_EVERY_MS > timeoutMs)
      throw timedOut(
        `${shown}: the operator has not seen the request within ${ageText(timeoutMs)}.`,
        `Check that the operator runs: gpu-rent doctor; or why it waits: gpu-rent explain ${shown}`,
      );
    await sleep(systemClock, POLL_EVERY_MS, context.signal);
  }
}

/** Returns a value that the annotation has not had: the operator handles each value once. */
function requestText(): string {
  return new Date(systemClock.now()).toISOString();
}

function rentedAtOf({ status }: GpuInstance): number | undefined {
  return parseTimestamp(status?.rentedAt);
}

/** Returns the id of its machine. Throws if it has none. */
function machineOf({ object, shown }: InstanceTarget): string {
  const { instanceId, phase } = object.status ?? {};
  if (instanceId !== undefined) return instanceId;
  throw failed(
    `${shown} has no machine (${phase ?? 'not yet seen by the operator'}).`,
    `gpu-rent status ${shown} -n ${object.metadata.namespace} shows why.`,
  );
}

/** Returns the machine in words, e.g. `gpui/trainer (machine 4711, RTX 4090, $0.42/h)`. */
function machineText({ object: { status }, shown }: InstanceTarget): string {
  const price = status && billedPerHour(status);
  const facts = [
    `machine ${status?.instanceId}`,
    ...(status?.gpu ? [status.gpu.name] : []),
    ...(price === undefined ? [] : [`${hourlyText(Number(price))}/h`]),
  ];
  return `${shown} (${facts.join(', ')})`;
}

function refuseObserved({ object, shown }: InstanceTarget, verb: string): void {
  if (object.spec.adopt?.policy !== 'Observe') return;
  throw failed(
    `${shown} only observes machine ${object.spec.adopt.instanceId}: the operator does not ${verb} it.`,
    `Change the machine itself: gpu-rent ${verb === 'replace' ? 'destroy' : verb} instance ${object.spec.adopt.instanceId}`,
  );
}

function refuseWorker({ object, shown }: InstanceTarget, verb: string): void {
  const group = object.metadata.labels?.[labels.endpointGroup];
  if (group === undefined) return;
  throw failed(
    `${shown} is a worker of epg/${group}, which controls its workers; nothing was changed.`,
    verb === 'stop'
      ? `Change the bounds of the group, or stop its scaling: gpu-rent pause epg/${group}`
      : `Request a worker from the group: gpu-rent wake epg/${group}`,
  );
}
