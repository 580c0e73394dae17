import { API_VERSION, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { omitUndefined } from '../../lib/json.ts';
import { systemRandom } from '../../lib/random.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { hourlyText } from '../../views/amounts.ts';
import { type Plan, planText } from '../../views/plan.ts';
import { printable } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, failed, usageError } from '../command-error.ts';
import { reachMachine, SSH_OPTIONS } from '../machine/reach.ts';
import { goalOf, waitForAll } from '../objects/waiting.ts';
import { parseTime, restOption, switchOption, textOption } from '../option-values.ts';
import { ARGS, imageArgs } from '../options/image-args.ts';
import { MACHINE_OPTIONS, machineFields, machineParts } from '../options/machine-options.ts';
import { createOutput, createProgress, yamlOf } from '../output/output.ts';
import { withClusterViews } from '../plan/cluster-view.ts';
import { plannedObjects } from '../plan/manifests.ts';
import { planObject, readOnce } from '../plan/plan-object.ts';
import { allOf, refuseOptions } from '../run-faults.ts';
import { confirmed, YES } from '../secrets/prompt.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';
import { execOn } from './ssh.ts';

/** Rents a machine for a GPU model and opens a shell on it. */
export const runCommand: Command = {
  description:
    'Writes the manifest of a GpuInstance, shows what it would rent and for how much, asks, creates it, waits until it is ready, and opens a shell or runs the command behind --. The object stays, and its machine bills, until you delete it; --rm deletes it when the shell or command has ended. --dry-run prints the manifest alone.',
  examples: [
    "gpu-rent run --gpu 'RTX 4090' --image pytorch/pytorch:latest --max-price 0.60",
    "gpu-rent run --gpu 'RTX 4090' --image ubuntu:24.04 --max-price 0.60 --yes --rm -- nvidia-smi",
    "gpu-rent run --gpu 'RTX 4090' --image vllm/vllm-openai:v0.11.2 --max-price 0.60 --args --model Qwen/Qwen3-8B",
    "gpu-rent run --gpu 'H100 SXM' --count 8 --image nvcr.io/nvidia/pytorch:25.10-py3 --dry-run > train.yaml",
  ],
  args: [{ name: '[command...]', description: 'Behind --: run this instead of a shell.' }],
  options: [
    ...MACHINE_OPTIONS,
    { flags: '--name <name>', description: 'Name of the object. Default: run- and five characters.' },
    { flags: '--timeout <time>', description: 'Time limit for it to become ready. Default: 20m.' },
    { flags: '--rm', description: 'Delete the object and destroy the machine at the end.' },
    { flags: '--dry-run', description: 'Print the manifest, without a question or any creation.' },
    ARGS,
    YES,
    ...SSH_OPTIONS,
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const timeoutMs = parseTime(textOption(input.options, '--timeout') ?? '20m', '--timeout');
    const manifest = manifestOf(input, context);
    await refuseOptions(manifest);
    if (switchOption(input.options, '--dry-run')) {
      await createOutput(input, context).value(manifest, await yamlOf(manifest));
      return EXIT.ok;
    }
    const { name } = manifest.metadata;
    const plan = await planOf(manifest, input, context);
    if (plan.machine) throw existsAlready(name);
    const text = printable(planText({ ...plan, candidates: [] }));
    if (!plan.rents) throw failed(text.trimEnd(), remedyOf(plan, input));
    context.stderr.write(text);
    const price = hourlyText(plan.rents.pricePerHour) ?? 'an unknown price';
    await confirmed(`Rent it as gpui/${name} at about ${price}/h until it is deleted?`, input, context);
    const namespace = await created(manifest, input, context);
    const end = `kubectl delete gpui ${name} -n ${namespace}`;
    context.stderr.write(`gpui/${name} created. This ends it and its bill: ${end}\n`);
    const isForOnce = switchOption(input.options, '--rm');
    try {
      await untilReady(name, { input, context, timeoutMs });
      const code = await use(`gpui/${name}`, input, context);
      const way = restOption(input.options, '--args') === undefined ? 'ssh' : 'logs';
      if (!isForOnce)
        context.stderr.write(`The object stays: gpu-rent ${way} gpui/${name} -n ${namespace}\n`);
      return code;
    } catch (error) {
      if (!isForOnce)
        context.stderr.write(`gpui/${name} stays, and bills once it is rented. To end it: ${end}\n`);
      throw error;
    } finally {
      if (isForOnce) await removed(name, input, context);
    }
  },
};

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

function manifestOf({ options }: CommandInput, context: CommandContext): Manifest {
  const { args, ...parts } = allOf({ args: () => argsOf(options, context), ...machineParts(options) });
  const { account, machine } = machineFields(options, parts);
  const namespace = textOption(options, '--namespace');
  const suffix = systemRandom.uuid().replaceAll('-', '').slice(0, NAME_CHARACTERS);
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name: textOption(options, '--name') ?? `run-${suffix}`, ...omitUndefined({ namespace }) },
    spec: { ...account, ...(args === undefined ? { ssh: true } : { args }), ...machine },
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

/** Creates the object. Resolves to its namespace. */
function created(manifest: Manifest, input: CommandInput, context: CommandContext): Promise<string> {
  const { name } = manifest.metadata;
  return withCluster(input, context, async ({ kube, namespace }) => {
    const object = { ...manifest, metadata: { ...manifest.metadata, namespace } };
    try {
      await kube.create(gpuInstanceResource, object as KubeObject, { fieldManager: 'gpu-rent' });
    } catch (error) {
      if (!isKubeError(error, 'alreadyExists')) throw error;
      throw existsAlready(name);
    }
    return namespace;
  });
}

function existsAlready(name: string): Error {
  return failed(
    `gpui/${name} exists already; nothing was changed.`,
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

/** Opens a shell at a terminal, runs the given command, or does nothing. */
async function use(target: string, input: CommandInput, context: CommandContext): Promise<number> {
  const isInteractive = context.stdin.isTTY === true && context.stdout.isTTY === true;
  const hasShell = restOption(input.options, '--args') === undefined;
  if (!hasShell || (input.args.length === 0 && !isInteractive)) {
    context.stdout.write(`${target} is ready\n`);
    return EXIT.ok;
  }
  const asked = { input, context };
  const machine = await reachMachine(target, asked);
  return execOn(machine, input.args, { stdin: isInteractive, tty: isInteractive, asked });
}

async function removed(name: string, input: CommandInput, context: CommandContext): Promise<void> {
  // The deletion also runs after Ctrl-C.
  const calm = { ...context, signal: new AbortController().signal };
  await withCluster(input, calm, async ({ kube, namespace }) => {
    await kube.delete(gpuInstanceResource, { namespace, name });
    context.stderr.write(
      `gpui/${name} is deleted; the operator destroys its machine: gpu-rent wait gpui/${name} -n ${namespace} --for delete\n`,
    );
  });
}
