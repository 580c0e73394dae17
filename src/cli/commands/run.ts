import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { isRun } from '../../instance/run.ts';
import { systemClock } from '../../lib/clock.ts';
import { omitUndefined } from '../../lib/json.ts';
import { systemRandom } from '../../lib/random.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { hourlyText } from '../../views/amounts.ts';
import { type Plan, planText } from '../../views/plan.ts';
import { printable, printableLine } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, failed, usageError } from '../command-error.ts';
import { type Attended, attend, deletedLine, leftLines } from '../job/attended-run.ts';
import { keyLog } from '../job/key-log.ts';
import { programLog } from '../job/program-log.ts';
import { LOG_ADDRESS_OPTIONS, logAddress, openLogs } from '../logs/log-address.ts';
import { LOG_TOKEN_OPTION, logCredentials } from '../logs/log-token.ts';
import { logFollower } from '../logs/run-log.ts';
import { reachMachine, SSH_OPTIONS } from '../machine/reach.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { goalOf, waitForAll } from '../objects/waiting.ts';
import { listOption, parseTime, restOption, switchOption, textOption } from '../option-values.ts';
import { ARGS, imageArgs } from '../options/image-args.ts';
import { MACHINE_OPTIONS, machineFields, machineParts } from '../options/machine-options.ts';
import { PROGRAM_OPTIONS, programFields, programParts } from '../options/program-options.ts';
import { createOutput, createProgress, yamlOf } from '../output/output.ts';
import { withClusterViews } from '../plan/cluster-view.ts';
import { plannedObjects } from '../plan/manifests.ts';
import { planObject, readOnce } from '../plan/plan-object.ts';
import { allOf, refuseOptions } from '../run-faults.ts';
import { ask, confirmed, YES } from '../secrets/prompt.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';
import { execOn } from './ssh.ts';

/** Rents a machine for a GPU model, and opens a shell on it or runs a program to its end. */
export const runCommand: Command = {
  description:
    "Writes the manifest of a GpuInstance, shows what it would rent and for how much, asks, and creates it. Without a command it waits until the machine is ready and opens a shell; the object stays, and its machine bills, until you delete it. With a command behind -- the object is a run (spec.completion): the machine ends with the command. As with docker run, gpu-rent then follows it, unless --detach is given: output on stdout, states and $/h on stderr, and the command's exit code. Ctrl-C asks whether the run goes on; a second one leaves it. Exit codes without one of the command: 1, and 143 for a cancelled run. --dry-run prints the manifest alone.",
  examples: [
    "gpu-rent run --gpu 'RTX 4090' --image pytorch/pytorch:latest --max-price 0.60",
    "gpu-rent run --gpu 'RTX 4090' --image ubuntu:24.04 --max-price 0.60 --yes --rm -- nvidia-smi",
    "gpu-rent run --gpu 'RTX 4090' --image pytorch/pytorch:latest --max-price 0.60 --name train --detach -- python train.py",
    'gpu-rent run --follow --name train',
    "gpu-rent run --gpu 'RTX 4090' --image vllm/vllm-openai:v0.11.2 --max-price 0.60 --args --model Qwen/Qwen3-8B",
    "gpu-rent run --gpu 'H100 SXM' --count 8 --image nvcr.io/nvidia/pytorch:25.10-py3 --dry-run > train.yaml",
  ],
  args: [
    {
      name: '[command...]',
      description: 'Behind --: run this to its end instead of a shell.',
      behindDashes: true,
    },
  ],
  options: [
    ...MACHINE_OPTIONS,
    ...PROGRAM_OPTIONS,
    { flags: '--name <name>', description: 'Name of the object. Default: run- and five characters.' },
    { flags: '-d, --detach', description: 'Return when the object is created, and print its name.' },
    {
      flags: '-f, --follow',
      description:
        'Follow the command to its end, the default. Without a command: follow the existing run of --name.',
    },
    { flags: '--timeout <time>', description: 'Time limit for a shell to become ready. Default: 20m.' },
    { flags: '--rm', description: 'Delete the object and destroy the machine at the end.' },
    { flags: '--dry-run', description: 'Print the manifest, without a question or any creation.' },
    ARGS,
    YES,
    ...LOG_ADDRESS_OPTIONS,
    LOG_TOKEN_OPTION,
    ...SSH_OPTIONS,
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const usage = usageOf(input);
    if (usage === 'attach') return attached(requiredName(options), input, context);
    const timeoutMs = parseTime(textOption(options, '--timeout') ?? '20m', '--timeout');
    const manifest = manifestOf(input, context);
    await refuseOptions(manifest);
    logAddress(options, context.env);
    if (switchOption(options, '--dry-run')) {
      await createOutput(input, context).value(manifest, await yamlOf(manifest));
      return EXIT.ok;
    }
    if (usage === 'program' && !switchOption(options, '--detach')) await refuseUnreadableLog(input, context);
    const { name } = manifest.metadata;
    const plan = await planOf(manifest, input, context);
    if (plan.machine) throw existsAlready(name);
    const text = printable(planText({ ...plan, candidates: [] }));
    if (!plan.rents) throw failed(text.trimEnd(), remedyOf(plan, input));
    context.stderr.write(text);
    const price = hourlyText(plan.rents.pricePerHour) ?? 'an unknown price';
    const until = usage === 'program' ? 'its command ends' : 'it is deleted';
    await confirmed(`Rent it as gpui/${name} at about ${price}/h until ${until}?`, input, context);
    const object = await created(manifest, input, context);
    const { namespace = '' } = object.metadata;
    if (switchOption(options, '--detach')) return detached({ name, namespace, usage }, context);
    if (usage === 'program') {
      context.stderr.write(`gpui/${name} created.\n`);
      return followedFromCreation(object, input, context);
    }
    const end = `kubectl delete gpui ${name} -n ${namespace}`;
    context.stderr.write(`gpui/${name} created. This ends it and its bill: ${end}\n`);
    const isForOnce = switchOption(options, '--rm');
    try {
      await untilReady(name, { input, context, timeoutMs });
      const code = await use(`gpui/${name}`, input, context);
      const way = usage === 'shell' ? 'ssh' : 'logs';
      if (!isForOnce)
        context.stderr.write(`The object stays: gpu-rent ${way} gpui/${name} -n ${namespace}\n`);
      return code;
    } catch (error) {
      if (!isForOnce)
        context.stderr.write(`gpui/${name} stays, and bills once it is rented. To end it: ${end}\n`);
      throw error;
    } finally {
      if (isForOnce) await removed(object, input, context);
    }
  },
};

/** Use of the machine. `image`: its image runs as built. `attach`: no new machine, an existing run. */
type Usage = 'shell' | 'image' | 'program' | 'attach';

/** Returns the use of the machine. Throws a usage error for options that exclude each other. */
function usageOf({ options, args }: CommandInput): Usage {
  const [follows, detaches] = [switchOption(options, '--follow'), switchOption(options, '--detach')];
  const isImage = restOption(options, '--args') !== undefined;
  const usage = isImage ? 'image' : args.length > 0 ? 'program' : follows ? 'attach' : 'shell';
  if (follows && detaches) throw usageError('--follow and --detach exclude each other.', 'Leave one out.');
  if (follows && usage === 'image')
    throw usageError(
      '--follow and --args exclude each other: an image that runs as built has no end to follow.',
      'Follow its log: gpu-rent logs gpui/NAME --follow',
    );
  if (detaches && switchOption(options, '--rm'))
    throw usageError(
      '--detach and --rm exclude each other: nothing waits for the end.',
      'Leave --rm out: the machine of a command ends with it, and kubectl delete removes the object.',
    );
  if (usage === 'program') refuseGiven(options, ['--timeout'], 'a command has --max-lifetime instead.');
  else if (usage !== 'attach')
    refuseGiven(options, ['--backoff-limit', '--lost-limit'], 'only a command behind -- has attempts.');
  if (usage === 'attach') {
    const flags = [...MACHINE_OPTIONS, ...PROGRAM_OPTIONS].map((option) => option.flags.split(' ')[0] ?? '');
    refuseGiven(
      options,
      flags,
      'to follow an existing run, give --name alone; a new one needs a command behind --.',
    );
  }
  return usage;
}

function refuseGiven(options: CommandInput['options'], flags: readonly string[], why: string): void {
  const given = flags.filter((flag) => listOption(options, flag).length > 0);
  if (given.length > 0) throw usageError(`${given.join(', ')}: ${why}`);
}

function requiredName(options: CommandInput['options']): string {
  const name = textOption(options, '--name');
  if (name !== undefined) return name;
  throw usageError(
    '--follow without a command follows the existing run of --name, which is missing.',
    'Give --name, or a new command behind --.',
  );
}

/** Prints the name of a created object, and how to reach and end it. */
function detached(
  { name, namespace, usage }: { readonly name: string; readonly namespace: string; readonly usage: Usage },
  { stdout, stderr }: CommandContext,
): number {
  stdout.write(`gpui/${name}\n`);
  const lines =
    usage === 'program'
      ? leftLines(name, namespace)
      : [
          `Wait until it is ready: gpu-rent wait gpui/${name} -n ${namespace}`,
          `End it and its bill: kubectl delete gpui ${name} -n ${namespace}`,
        ];
  for (const line of lines) stderr.write(`${line}\n`);
  return EXIT.ok;
}

/** Rejects if the credentials or the certificates for the operator's log are missing: then no machine is rented. */
async function refuseUnreadableLog(input: CommandInput, context: CommandContext): Promise<void> {
  const address = logAddress(input.options, context.env);
  if (address === undefined) return;
  await withCluster(input, context, async (cluster) => {
    const logs = await openLogs(address, await logCredentials(input.options, cluster));
    await logs.close();
  });
}

/**
 * Follows a run that this process created to its end. Resolves to the exit code of its program. After a failure `--rm`
 * deletes the object; otherwise lines on stderr name how to follow it and how to end it.
 */
async function followedFromCreation(
  object: GpuInstance,
  input: CommandInput,
  context: CommandContext,
): Promise<number> {
  const { name, namespace = '' } = object.metadata;
  let refusal: Error | undefined;
  try {
    const end = await followed(object, input, context);
    if (end.refusal === undefined) return end.exitCode;
    refusal = end.refusal;
  } catch (error) {
    const isForOnce = switchOption(input.options, '--rm');
    const isRemoved =
      isForOnce &&
      (await removed(object, input, context).then(
        () => true,
        () => false,
      ));
    if (!isRemoved) for (const line of leftLines(name, namespace)) context.stderr.write(`${line}\n`);
    throw error;
  }
  throw refusal;
}

/** Follows the existing run of a name to its end. Resolves to the exit code of its program. */
async function attached(name: string, input: CommandInput, context: CommandContext): Promise<number> {
  const { exitCode, refusal } = await followed(name, input, context);
  if (refusal) throw refusal;
  return exitCode;
}

/** Follows a run to its end: one that this process created, or the existing one of a name. */
async function followed(
  run: GpuInstance | string,
  input: CommandInput,
  context: CommandContext,
): Promise<Attended> {
  const print = (line: string): void => {
    context.stderr.write(`${printableLine(line)}\n`);
  };
  const write = (text: string): void => {
    context.stdout.write(context.stdout.isTTY ? printable(text) : text);
  };
  const address = logAddress(input.options, context.env);
  // Ctrl-C ends no request: the run is read once more after it.
  const calm = { ...context, signal: new AbortController().signal };
  const isCreator = typeof run !== 'string';
  const { object, end } = await withCluster(input, calm, async (cluster) => {
    const { kube, namespace } = cluster;
    const object = isCreator ? run : await existingRun(run, cluster);
    const logs = address && (await openLogs(address, await logCredentials(input.options, cluster)));
    const clock = systemClock;
    const isTerminal = context.stdin.isTTY === true && context.stderr.isTTY === true;
    try {
      const end = await attend(object, {
        ...{ kube, clock, random: systemRandom, namespace, signal: context.signal, print, isCreator },
        followLog: logs
          ? programLog(write, (receiver) =>
              logFollower({ open: logs.open, clock, namespace, print, ...receiver }),
            )
          : keyLog({ cluster, input, context: calm, write, print }),
        ask: isTerminal ? (question) => ask(calm, question, { instead: 'an answer' }) : undefined,
      });
      return { object, end };
    } finally {
      await logs?.close();
    }
  });
  // Without a terminal there was no question, and the object was for this command alone.
  const isOver = end.refusal === undefined && (!end.isLeft || context.stdin.isTTY !== true);
  if (switchOption(input.options, '--rm') && isOver) await removed(object, input, context);
  return end;
}

async function existingRun(name: string, cluster: ClusterSession): Promise<GpuInstance> {
  const object = await getObject<GpuInstance>(cluster, gpuInstanceResource, name);
  if (isRun(object)) return object;
  throw failed(`gpui/${name} is no run.`, `Follow its log: gpu-rent logs gpui/${name} -f`);
}

/** Returns the remedy as options of this command, by the reason. */
function remedyOf({ reason }: Plan, { options }: CommandInput): string {
  const prices = 'gpu-rent list gpus shows names and prices';
  const account = textOption(options, '--account') ?? 'default';
  if (reason === 'InvalidSpec' && textOption(options, '--max-price') === undefined)
    return `Give --max-price, the maximum dollars per hour; ${prices}.`;
  if (reason === 'AccountMissing')
    return 'Name another one: --account NAME, -n NAMESPACE; kubectl get gpuacct -A shows all.';
  if (facetsOf(reason).search !== undefined) return `${prices}.`;
  return `gpu-rent status gpuacct/${account} shows the state of the account, and gpu-rent doctor checks everything.`;
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const NAME_CHARACTERS = 5;

function manifestOf({ options, args: command }: CommandInput, context: CommandContext): Manifest {
  const { args, ...parts } = allOf({
    args: () => argsOf(options, context),
    ...machineParts(options),
    ...programParts(options),
  });
  const { account, machine } = machineFields(options, parts);
  const namespace = textOption(options, '--namespace');
  const suffix = systemRandom.uuid().replaceAll('-', '').slice(0, NAME_CHARACTERS);
  const maxLifetime = textOption(options, '--max-lifetime');
  const program =
    command.length > 0 ? programFields(options, command, parts) : omitUndefined({ maxLifetime });
  const start = command.length > 0 ? {} : args === undefined ? { ssh: true } : { args };
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name: textOption(options, '--name') ?? `run-${suffix}`, ...omitUndefined({ namespace }) },
    spec: { ...account, ...start, ...program, ...machine },
  };
}

function argsOf(options: CommandInput['options'], context: CommandContext): readonly string[] | undefined {
  const args = imageArgs(options, context);
  if (args !== undefined && switchOption(options, '--rm'))
    throw usageError(
      '--rm and --args exclude each other: an image that runs as built has no shell whose end could be waited for.',
      'Leave --rm out, or run a program by SSH: -- PROGRAM',
    );
  return args;
}

async function planOf(manifest: Manifest, input: CommandInput, context: CommandContext): Promise<Plan> {
  const [planned] = await plannedObjects([
    { text: await yamlOf(manifest), file: 'the manifest of these options' },
  ]);
  if (!planned) throw new Error('a manifest of one object holds none');
  const progress = createProgress(context);
  return withClusterViews([planned], { input, context }, ([first]) => {
    if (!first) throw new Error('an object without a view');
    const [, view] = first;
    return withMarketplaceAt(view.target ?? {}, { input, context }, (session) =>
      planObject(planned, { view, ...readOnce(session), input, progress }),
    );
  }).finally(() => progress.clear());
}

/** Creates the object. Resolves to it as the API server stored it. */
function created(manifest: Manifest, input: CommandInput, context: CommandContext): Promise<GpuInstance> {
  const { name } = manifest.metadata;
  return withCluster(input, context, async ({ kube, namespace }) => {
    const object = { ...manifest, metadata: { ...manifest.metadata, namespace } };
    try {
      return await kube.create(gpuInstanceResource, object as unknown as GpuInstance, {
        fieldManager: 'gpu-rent',
      });
    } catch (error) {
      if (isKubeError(error, 'alreadyExists')) throw existsAlready(name);
      if (!isKubeError(error) || error.outcome === 'refused') throw error;
      throw failed(
        `The API server did not answer: gpui/${name} may exist, and then rents a machine.`,
        `Look: kubectl get gpui ${name} -n ${namespace}. This ends it: kubectl delete gpui ${name} -n ${namespace}`,
        error,
      );
    }
  });
}

function existsAlready(name: string): Error {
  return failed(
    `gpui/${name} already exists; nothing was changed.`,
    `Give another --name, or: gpu-rent ssh gpui/${name}`,
  );
}

interface Waiting {
  readonly input: CommandInput;
  readonly context: CommandContext;
  readonly timeoutMs: number;
}

function untilReady(name: string, { input, context, timeoutMs }: Waiting): Promise<void> {
  const goal = goalOf('ready', gpuInstanceResource);
  return withCluster(input, context, (cluster) =>
    waitForAll(
      [{ resource: gpuInstanceResource, name, goal }],
      { cluster, timeoutMs, onReached: async () => {} },
      context,
    ),
  );
}

/** Opens a shell at a terminal; elsewhere, and without SSH, it does nothing. */
async function use(target: string, input: CommandInput, context: CommandContext): Promise<number> {
  const isInteractive = context.stdin.isTTY === true && context.stdout.isTTY === true;
  const hasShell = restOption(input.options, '--args') === undefined;
  if (!hasShell || !isInteractive) {
    context.stdout.write(`${target} is ready\n`);
    return EXIT.ok;
  }
  const asked = { input, context };
  const machine = await reachMachine(target, asked);
  return execOn(machine, [], { stdin: true, tty: true, asked });
}

/** Deletes the object. Another object of its name stays. */
async function removed(object: GpuInstance, input: CommandInput, context: CommandContext): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  // The deletion also runs after Ctrl-C.
  const calm = { ...context, signal: new AbortController().signal };
  await withCluster(input, calm, async ({ kube }) => {
    const isDeleted = await kube.delete(gpuInstanceResource, { namespace, name }, { uid }).catch((error) => {
      if (isKubeError(error, 'conflict')) return false;
      throw error;
    });
    if (!isDeleted) return;
    context.stderr.write(
      `${deletedLine(object)} Wait: gpu-rent wait gpui/${name} -n ${namespace} --for delete\n`,
    );
  });
}
