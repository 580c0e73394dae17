import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { omitUndefined } from '../../lib/json.ts';
import type { Instance } from '../../markets/vast/instances/instance.ts';
import { hasOperatorPrefix } from '../../ownership/label.ts';
import { printableLine } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { failed, notFound } from '../command-error.ts';
import { parseId, switchOption, textOption } from '../option-values.ts';
import { createOutput, yamlOf } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Writes the manifest that adopts a running machine. */
export const importCommand: Command = {
  description:
    "The account must allow it (spec.adoption: Unlabelled), and the machine must carry no label. Manage relabels the machine, and from then on it is the object's: deleting the object destroys it. Observe only shows it.",
  examples: [
    'gpu-rent import 4711 --name trainer > trainer.yaml',
    'gpu-rent import 4711 --policy Observe --apply',
  ],
  args: [{ name: '<id>', description: 'The instance.' }],
  options: [
    { flags: '--name <name>', description: 'Name of the object. Default: gpu-<id>.' },
    { flags: '--account <name>', description: 'Name of the MarketplaceAccount. Default: default.' },
    { flags: '--policy <policy>', description: 'Default: Manage.', choices: ['Manage', 'Observe'] },
    { flags: '--apply', description: 'Create the object in the cluster.' },
  ],
  optionSets: ['output', 'cluster', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const row = await withMarketplace(input, context, ({ client }) => client.instances.get(id));
    if (!row) throw notFound(`There is no instance ${id}.`, 'gpu-rent list instances shows all.');
    if (row.label) warnOfLabel(row, input, context);
    const manifest = manifestOf(row, input);
    if (switchOption(input.options, '--apply')) return apply(manifest, input, context);
    await createOutput(input, context).value(manifest, await yamlOf(manifest));
    return 0;
  },
};

/** Warns of a label: the operator would answer AdoptionTargetInvalid. With --apply it throws, else the manifest is written. */
function warnOfLabel({ id, label }: Instance, input: CommandInput, { stderr }: CommandContext): void {
  const what = `Instance ${id} carries the label "${printableLine(label ?? '')}": the operator adopts machines without a label only.`;
  const command = `gpu-rent label instance ${id} ""`;
  const remedy = hasOperatorPrefix(label)
    ? `If \`gpu-rent orphans\` lists it, no object owns it; remove the label first: ${command} --force`
    : `Remove the label first, if the machine is yours: ${command}`;
  if (switchOption(input.options, '--apply')) throw failed(`${what} Nothing was created.`, remedy);
  stderr.write(`${what}\n${remedy}\n`);
}

type Manifest = Omit<GpuInstance, 'spec'> & { readonly spec: Readonly<Record<string, unknown>> };

/** Returns the manifest of the present machine, so that a replacement would be similar. */
function manifestOf(row: Instance, { options }: CommandInput): Manifest {
  const account = textOption(options, '--account');
  const namespace = textOption(options, '--namespace');
  const policy = textOption(options, '--policy') ?? 'Manage';
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name: textOption(options, '--name') ?? `gpu-${row.id}`, ...omitUndefined({ namespace }) },
    spec: {
      ...(account === undefined ? {} : { accountRef: { name: account } }),
      adopt: { instanceId: row.id, policy },
      ...omitUndefined({ image: row.image, disk: row.diskGB && `${Math.ceil(row.diskGB)}G` }),
      offers: [offerLike(row)],
      replacement: { policy: 'Never' },
    },
  };
}

/** Factor by which the price may rise before another machine is rented. */
const PRICE_MARGIN = 1.2;

function offerLike({ gpuName, gpuCount = 1, pricePerHour }: Instance) {
  const cents = pricePerHour === undefined ? undefined : Math.ceil((pricePerHour * PRICE_MARGIN) / 10_000);
  return {
    ...omitUndefined({ gpuNames: gpuName === undefined ? undefined : [gpuName] }),
    gpuCount,
    ...omitUndefined({ maxPricePerHour: cents === undefined ? undefined : (cents / 100).toFixed(2) }),
  };
}

async function apply(manifest: Manifest, input: CommandInput, context: CommandContext): Promise<number> {
  const created = await withCluster(input, context, ({ kube, namespace }) => {
    const metadata = { ...manifest.metadata, namespace };
    return kube.create(gpuInstanceResource, { ...manifest, metadata }, { fieldManager: 'gpu-rent' });
  });
  if (!created) throw failed('The object was not created.');
  await createOutput(input, context).changed([
    { kind: 'gpui', name: manifest.metadata.name, did: 'created' },
  ]);
  return 0;
}
