import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { AGENT_LABEL, annotations, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { cancelTime } from '../../instance/run.ts';
import { type Clock, sleep } from '../../lib/clock.ts';
import { omitUndefined } from '../../lib/json.ts';
import { counted } from '../../lib/plural.ts';
import type { Random } from '../../lib/random.ts';
import { formatTime } from '../../lib/time.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import type { LogAddress } from '../logs/log-address.ts';
import { listBudgets } from '../objects/cluster-objects.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { admit, isOwn, keyTaken } from './admission.ts';
import {
  type Answer,
  type CostNow,
  isRetryable,
  type Outcome,
  refusal,
  TOOL_NAMES,
  type ToolName,
  UNKNOWN_COST,
} from './contract.ts';
import { refusalOf } from './failures.ts';
import { Lane, LaneFull } from './lane.ts';
import { type Call, manifestOf } from './manifest.ts';
import { type AgentState, costNow, hasEnded, isPending, type ServerLimits } from './room.ts';
import { SharedRead } from './shared-read.ts';
import { messageText } from './text.ts';
import { parseArguments, type ToolArguments } from './tools.ts';
import { stateAnswer, viewOf } from './view.ts';

/** Settings of the server. */
export interface ServerSettings {
  /** Value of the label of its objects. */
  readonly agent: string;
  readonly limits: ServerLimits;
  /** True if `status`, `logs` and `stop` also see objects of other creators in the namespace. */
  readonly any: boolean;
  /** Address of the operator's logs; undefined: the marketplace key reads them. */
  readonly logAddress: LogAddress | undefined;
}

/** Means of the server. `input` has the options of the command, for the cluster and the marketplace. */
export interface ServerMeans {
  readonly cluster: ClusterSession;
  readonly settings: ServerSettings;
  readonly input: CommandInput;
  readonly context: CommandContext;
  readonly clock: Clock;
  readonly random: Random;
}

const POLL_MS = 1_000;
/** Running and waiting calls of the cluster; further calls are refused. */
const CALLS = { width: 8, places: 256 };
/** The marketplace limits calls per login, which the operator needs: one caller at a time. */
const MARKETPLACE = { width: 1, places: 8 };
/** Pause after a call of the marketplace. */
const MARKETPLACE_PAUSE_MS = 1_000;
const MAX_WAITS = 8;
const DEFAULT_TAIL = 200;

/** The tools of the server, over one namespace of one cluster. State is in the cluster only. */
export class AgentServer {
  readonly #means: ServerMeans;
  readonly #calls = new Lane(CALLS.width, CALLS.places);
  readonly #marketplace = new Lane(MARKETPLACE.width, MARKETPLACE.places);
  /** The state beside answers: calls that end together share one listing, which begins after all of them. */
  readonly #shown = new SharedRead(() => this.#calls.run(() => this.#state()));
  #waits = 0;

  constructor(means: ServerMeans) {
    this.#means = means;
  }

  /** Answers a call of a tool, whatever its name and arguments are. Never rejects. */
  async call(tool: string, given: unknown): Promise<Outcome> {
    const answer = await this.#answer(tool, given).catch((error: unknown): Answer => {
      if (!(error instanceof LaneFull)) return refusalOf(error);
      const message = 'Too many calls wait for an answer. Nothing was done; wait for earlier calls to end.';
      return refusal('Busy', message, { retryAfterSeconds: 5 });
    });
    const { nextAction, retryAfterSeconds, data, ...rest } = answer;
    return {
      ...rest,
      retryable: isRetryable(answer.reason),
      ...omitUndefined({ retryAfterSeconds }),
      nextAction,
      costNow: await this.#cost(),
      ...(data !== undefined && { data }),
    };
  }

  async #cost(): Promise<CostNow> {
    const { settings, clock } = this.#means;
    try {
      return costNow(await this.#shown.get(), settings.limits, clock.now());
    } catch {
      // The answer itself matters more than the money beside it.
      return UNKNOWN_COST;
    }
  }

  async #answer(tool: string, given: unknown): Promise<Answer> {
    if (!isTool(tool)) {
      const message = `There is no tool ${JSON.stringify(messageText(tool.slice(0, 100)))}. Tools: ${TOOL_NAMES.join(', ')}.`;
      return refusal('UnknownTool', message, { nextAction: { tool: 'status', arguments: {} } });
    }
    switch (tool) {
      case 'plan':
        return this.#with(tool, given, (call) => this.#plan(call));
      case 'run':
        return this.#with(tool, given, (call) => this.#calls.run(() => this.#create({ tool, ...call })));
      case 'job':
        return this.#with(tool, given, (call) => this.#calls.run(() => this.#create({ tool, ...call })));
      case 'status':
        return this.#with(tool, given, (call) => this.#status(call));
      case 'logs':
        return this.#with(tool, given, (call) => this.#logs(call));
      case 'stop':
        return this.#with(tool, given, (call) => this.#calls.run(() => this.#stop(call)));
      case 'cost':
        return this.#with(tool, given, () => this.#calls.run(() => this.#costs()));
      case 'list_gpus':
        return this.#with(tool, given, () => this.#listGpus());
    }
  }

  async #with<Name extends ToolName>(
    tool: Name,
    given: unknown,
    work: (call: ToolArguments<Name>) => Promise<Answer>,
  ): Promise<Answer> {
    const parsed = parseArguments(tool, given);
    if ('value' in parsed) return work(parsed.value);
    return refusal('InvalidArguments', messageText(`${tool}: ${parsed.faults.join('; ')}.`));
  }

  /** Lists the agent's objects consistently, and the budgets. */
  async #state(): Promise<AgentState> {
    const { cluster, settings } = this.#means;
    const { kube, namespace } = cluster;
    const labelSelector = `${AGENT_LABEL}=${settings.agent}`;
    const [{ items }, budgets] = await Promise.all([
      kube.list<GpuInstance>(gpuInstanceResource, { namespace, labelSelector }),
      listBudgets(cluster, namespace),
    ]);
    return { objects: items.filter((object) => isOwn(object, settings.agent)), budgets };
  }

  async #plan(call: ToolArguments<'plan'>): Promise<Answer> {
    const { cluster, settings, input, context } = this.#means;
    const { planAnswer } = await import('./market-tools.ts');
    const { namespace } = cluster;
    const { idempotencyKey: name } = call;
    const existing =
      name === undefined
        ? undefined
        : await this.#calls.run(() =>
            cluster.kube.get<GpuInstance>(gpuInstanceResource, { namespace, name }),
          );
    const taken = keyTaken(existing, settings.agent);
    if (taken) return taken;
    const manifest = manifestOf({ tool: 'plan', ...call }, { agent: settings.agent, namespace });
    return this.#atMarketplace(() => planAnswer(manifest, call, { input, context }));
  }

  async #listGpus(): Promise<Answer> {
    const { input, context } = this.#means;
    const { gpusAnswer } = await import('./market-tools.ts');
    return this.#atMarketplace(() => gpusAnswer({ input, context }));
  }

  #atMarketplace(work: () => Promise<Answer>): Promise<Answer> {
    const { clock, context } = this.#means;
    return this.#marketplace.run(async () => {
      const answer = await work();
      await sleep(clock, MARKETPLACE_PAUSE_MS, context.signal);
      return answer;
    });
  }

  #create(call: Call): Promise<Answer> {
    const { cluster, settings, clock, random, context } = this.#means;
    const { kube, namespace } = cluster;
    return admit(manifestOf(call, { agent: settings.agent, namespace }), {
      ...{ kube, namespace, clock, random, signal: context.signal },
      ...{ agent: settings.agent, limits: settings.limits },
      state: () => this.#state(),
    });
  }

  async #status({ name, waitSeconds = 0 }: ToolArguments<'status'>): Promise<Answer> {
    const { clock, context } = this.#means;
    if (name === undefined) return this.#calls.run(() => this.#all());
    const first = await this.#calls.run(() => this.#object(name));
    if (!first) return this.#absent(name);
    if (this.#waits >= MAX_WAITS) return stateAnswer(first, clock.now());
    this.#waits += 1;
    try {
      let shown = first;
      const until = clock.monotonic() + waitSeconds * 1_000;
      while (clock.monotonic() + POLL_MS <= until && stateKey(shown) === stateKey(first)) {
        await sleep(clock, POLL_MS, context.signal);
        const next = await this.#calls.run(() => this.#object(name));
        if (!next) return this.#absent(name);
        shown = next;
      }
      return stateAnswer(shown, clock.now());
    } finally {
      this.#waits -= 1;
    }
  }

  async #all(): Promise<Answer> {
    const { objects } = await this.#state();
    const now = this.#means.clock.now();
    const live = objects.filter((object) => !hasEnded(object)).length;
    return {
      ...{ ok: true, reason: 'Listed', nextAction: null },
      message: `${counted(objects.length, 'object')} of this agent, ${live} not ended.`,
      data: objects.map((object) => viewOf(object, now)),
    };
  }

  /** Returns the object if this server may see it. */
  async #object(name: string): Promise<GpuInstance | undefined> {
    const { cluster, settings } = this.#means;
    const ref = { namespace: cluster.namespace, name };
    const object = await cluster.kube.get<GpuInstance>(gpuInstanceResource, ref);
    return object && (settings.any || isOwn(object, settings.agent)) ? object : undefined;
  }

  #absent(name: string): Answer {
    const { namespace } = this.#means.cluster;
    return refusal('NotFound', `This agent has no gpui/${name} in namespace ${namespace}.`, {
      nextAction: { tool: 'status', arguments: {} },
    });
  }

  async #logs({ name, tailLines = DEFAULT_TAIL }: ToolArguments<'logs'>): Promise<Answer> {
    const object = await this.#calls.run(() => this.#object(name));
    if (!object) return this.#absent(name);
    const { settings, cluster, random, context } = this.#means;
    const { logAddress: address } = settings;
    if (address) {
      const { operatorLogAnswer } = await import('./operator-log-tool.ts');
      const means = { cluster, address, random, signal: context.signal };
      return this.#calls.run(() => operatorLogAnswer(object, tailLines, means));
    }
    const { logAnswer } = await import('./market-tools.ts');
    return this.#atMarketplace(() => logAnswer(object, tailLines, this.#means));
  }

  async #stop({ name }: ToolArguments<'stop'>): Promise<Answer> {
    const { cluster, clock } = this.#means;
    const object = await this.#object(name);
    if (!object) return this.#absent(name);
    const kept = keptBecause(object);
    if (kept !== undefined) return refusal('Kept', messageText(`gpui/${name}: ${kept}`));
    const status = { tool: 'status', arguments: { name, waitSeconds: 30 } } as const;
    if (hasEnded(object)) return stateAnswer(object, clock.now());
    const { uid } = object.metadata;
    const cancelAt = object.spec.completion && {
      [annotations.cancelAt]: formatTime(cancelTime(object, clock.now())),
    };
    const body = { metadata: { uid, annotations: { ...cancelAt } }, spec: { maxTotalCost: '0' } };
    try {
      await cluster.kube.patch<GpuInstance>(
        gpuInstanceResource,
        { namespace: cluster.namespace, name },
        { type: 'merge', body, fieldManager: 'gpu-rent' },
      );
    } catch (error) {
      if (isKubeError(error, 'notFound')) return this.#absent(name);
      throw error;
    }
    const message = isPending(object)
      ? `gpui/${name} never had a machine, and never rents one.`
      : `gpui/${name} is ending: the operator destroys its machine with its disk and rents no other.`;
    return { ok: true, reason: 'Ending', message, nextAction: status };
  }

  async #costs(): Promise<Answer> {
    const state = await this.#state();
    const { clock, settings } = this.#means;
    const now = clock.now();
    const { perHour, total, budgetLeft } = costNow(state, settings.limits, now);
    return {
      ...{ ok: true, reason: 'Listed', nextAction: null },
      message: `$${perHour}/h now, $${total} so far; $${budgetLeft} may still be promised by maxCost.`,
      data: state.objects.map((object) => {
        const { name, phase, ended, perHour: own, spent, maxCost } = viewOf(object, now);
        return omitUndefined({ name, phase, ended, perHour: own, spent, maxCost });
      }),
    };
  }
}

function isTool(name: string): name is ToolName {
  return (TOOL_NAMES as readonly string[]).includes(name);
}

/** Returns what a waiting `status` compares. */
function stateKey(object: GpuInstance): string {
  const { status, metadata } = object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const { phase, instanceId, observedGeneration } = status ?? {};
  return JSON.stringify([phase, instanceId, observedGeneration, ready?.reason, metadata.deletionTimestamp]);
}

/** Returns why only a person may end the machine; undefined if `stop` may. */
function keptBecause({ metadata, spec }: GpuInstance): string | undefined {
  if ((metadata.ownerReferences ?? []).length > 0)
    return 'it belongs to another object, which would replace it. Change that object.';
  if (spec.adopt?.policy === 'Observe') return 'its machine is only observed (spec.adopt.policy).';
  if (spec.deletionPolicy !== 'Destroy')
    return `spec.deletionPolicy is ${spec.deletionPolicy}, so its machine would stay and bill. A person ends it.`;
  return undefined;
}
