import { agreeing } from '../../lib/plural.ts';
import { systemRandom } from '../../lib/random.ts';
import type { MarketplaceError } from '../../market/errors.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { Instance } from '../../markets/vast/instances/instance.ts';
import type { RentAnswer, RentRequest } from '../../markets/vast/instances/rent.ts';
import { ageText, exactDollars, gigabytes, hourlyText, inDollars, timeText } from '../../views/amounts.ts';
import { printableLine } from '../../views/printable.ts';
import { allInstances } from '../all-instances.ts';
import type { Command } from '../command.ts';
import { notFound } from '../command-error.ts';
import { mayHaveBought, type PurchaseEvidence, uncertainPurchase } from '../failures/uncertain-purchase.ts';
import { FORCE, type Intended, refuseOwned } from '../id-change.ts';
import { commandsOf } from '../noun.ts';
import { parseAmount, parseId, parseIds, requestTimeout, textOption } from '../option-values.ts';
import { RENT_OPTIONS, rentRequest } from '../options/rent-options.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput, createProgress } from '../output/output.ts';
import { confirmed, YES } from '../secrets/prompt.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Returns an instance in its JSON form: prices in dollars, times in ISO 8601. */
function instanceRow(instance: Instance) {
  const { actualStatusText, pricePerHour, storagePricePerHour, startedAt, ...rest } = instance;
  return {
    ...rest,
    actualStatus: actualStatusText,
    pricePerHour: inDollars(pricePerHour),
    storagePricePerHour: inDollars(storagePricePerHour),
    startedAt: timeText(startedAt),
  };
}

/** A label of the operator has 96 characters; the first 32 identify the installation and the object. */
const LABEL_WIDTH = 32;

const instance = commandsOf({
  noun: 'instance',
  row: instanceRow,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Status', text: ({ actualStatus }) => actualStatus ?? 'provisioning' },
    { header: 'GPU', text: ({ gpuName }) => gpuName },
    { header: 'Count', text: ({ gpuCount }) => gpuCount },
    { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
    {
      header: 'SSH',
      text: ({ sshHost, sshPort }) => (sshHost && sshPort ? `${sshHost}:${sshPort}` : undefined),
    },
    { header: 'Label', text: ({ label }) => label, most: LABEL_WIDTH },
    {
      header: 'Age',
      text: ({ startedAt }) => (startedAt ? ageText(Date.now() - Date.parse(startedAt)) : undefined),
    },
    { header: 'Intended', text: ({ intendedStatus }) => intendedStatus, wide: true },
    { header: 'Image', text: ({ image }) => image, wide: true },
    { header: 'Disk', text: ({ diskGB }) => (diskGB === undefined ? undefined : `${diskGB}G`), wide: true },
    { header: 'Storage $/h', text: ({ storagePricePerHour }) => hourlyText(storagePricePerHour), wide: true },
    { header: 'Memory', text: ({ gpuMemoryMB }) => gigabytes(gpuMemoryMB), wide: true },
    { header: 'Machine', text: ({ machineId }) => machineId, wide: true },
    { header: 'Host', text: ({ hostId }) => hostId, wide: true },
    { header: 'Region', text: ({ region }) => region, wide: true },
    { header: 'Ports', text: ({ ports }) => portText(ports), wide: true },
    { header: 'Message', text: ({ statusMessage }) => statusMessage, wide: true },
  ],
});

function portText(ports: Instance['ports']): string {
  return Object.entries(ports)
    .map(([inside, outside]) => `${inside}=${outside}`)
    .join(' ');
}

/** Shows every rented machine of the login. */
export const listInstances = instance.list({
  examples: ['gpu-rent list instances', 'gpu-rent list instances --status running -o wide'],
  options: [
    {
      flags: '--label <label>',
      description: 'Only machines with this label; an empty label: machines without one.',
      mayBeEmpty: true,
    },
    { flags: '--status <word>', description: 'Only machines in this state, e.g. running.' },
  ],
  query: ({ options }) => ({
    label: textOption(options, '--label'),
    status: textOption(options, '--status'),
  }),
  async find(client, { label, status }) {
    return (await allInstances(client)).filter(
      (machine) =>
        (label === undefined || carries(machine, label)) &&
        (status === undefined || (machine.actualStatusText ?? 'provisioning') === status),
    );
  },
});

/** Shows one rented machine. */
export const showInstance = instance.get({
  examples: ['gpu-rent show instance 4711', 'gpu-rent show instance 4711 -o yaml'],
  find: (client, id) => client.instances.get(id),
});

/** Timeout: a busy service answers a rent late. */
const RENT_DEADLINE_MS = 60_000;

/** Rents an offer. */
export const createInstance: Command = {
  description:
    'The rent is sent once and never repeated. If its reply is lost, the command searches the list for its label and reports the result.',
  examples: [
    'gpu-rent create instance 123456 --image pytorch/pytorch --disk 32 --ssh --direct',
    'gpu-rent create instance 123456 --image vllm/vllm-openai:v0.11.2 -p 8000 -e HF_TOKEN --args --model Qwen/Qwen3-8B',
    'gpu-rent create instance 123456 --image pytorch/pytorch --ssh -- python /workspace/train.py',
    'gpu-rent create instance 123456 --image pytorch/pytorch --onstart start.sh',
    'gpu-rent create instance 123456 --image ubuntu:24.04 --bid 0.20',
  ],
  args: [
    { name: '<offer>', description: 'The id of an offer (gpu-rent search offers).' },
    {
      name: '[command...]',
      description: 'After --: a program that the container runs in addition to SSH.',
      behindDashes: true,
    },
  ],
  options: [
    ...RENT_OPTIONS,
    { flags: '--save-key <file>', description: "Write the machine's restricted key to a file of mode 0600." },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const offerId = parseId(input.args[0], 'offer');
    const ownLabel = textOption(input.options, '--label');
    const label = ownLabel ?? `gpu-rent-${systemRandom.uuid().slice(0, 13)}`;
    const request: RentRequest = { ...(await rentRequest(input, context)), label };
    const path = textOption(input.options, '--save-key');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save-key');
    const deadlineMs = requestTimeout(input.options) ?? RENT_DEADLINE_MS;
    const progress = createProgress(context);
    await withMarketplace(input, context, async ({ client }) => {
      progress.show(`Renting offer ${offerId} …`);
      const before = ownLabel === undefined ? NONE : await labelled(client, label);
      const rent = { offerId, request, deadlineMs, before };
      const answer = await rentOnce(client, rent).finally(() => progress.clear());
      const more = { offerId, label };
      // Printed first: this machine bills, whatever happens to the key.
      await createOutput(input, context).changed([
        { kind: 'instance', name: answer.instanceId, did: 'created', more },
      ]);
      if (answer.instanceApiKey) await file?.write(answer.instanceApiKey);
      context.stderr.write(await rentalNotes(client, answer.instanceId, request));
    });
    return 0;
  },
};

/** Returns notes on cost and access; an unreadable price does not fail the rent. */
async function rentalNotes(client: MarketplaceClient, id: string, { runType }: RentRequest): Promise<string> {
  const row = await client.instances.get(id).catch(() => undefined);
  const bills =
    row?.pricePerHour === undefined ? '' : `It bills ${exactDollars(row.pricePerHour)}/h from now on.\n`;
  const use = runType === 'args' ? `Log: gpu-rent logs ${id}` : `Shell, once it runs: gpu-rent ssh ${id}`;
  return `${bills}${use}\nEnd it: gpu-rent destroy instance ${id}\n`;
}

interface Rent {
  readonly offerId: string;
  readonly request: RentRequest;
  readonly deadlineMs: number;
  /** Machines that had the label before; undefined if the list could not be read. */
  readonly before: ReadonlySet<string> | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Returns the machines with the label. Other machines may have the given label already; they must not count as the
 * new one.
 */
async function labelled(client: MarketplaceClient, label: string): Promise<ReadonlySet<string> | undefined> {
  const instances = await allInstances(client).catch(() => undefined);
  return instances && new Set(instances.filter((row) => carries(row, label)).map(({ id }) => id));
}

/** Returns true if the machine has the label; an empty label means none. */
function carries(row: Instance, label: string): boolean {
  return (row.label ?? '') === label;
}

async function rentOnce(
  client: MarketplaceClient,
  { offerId, request, deadlineMs, before }: Rent,
): Promise<RentAnswer> {
  try {
    return await client.instances.rent(offerId, request, { deadlineMs });
  } catch (error) {
    throw mayHaveBought(error)
      ? await uncertain(client, error, { label: request.label ?? '', before })
      : error;
  }
}

/** Returns the error of a rent with an unknown outcome, with the findings in the list. It never rents again. */
async function uncertain(
  client: MarketplaceClient,
  error: MarketplaceError,
  { label, before }: Sought,
): Promise<Error> {
  const result = await findRented(client, { label, before, named: error.instanceId });
  return uncertainPurchase(error, evidenceOf(result, `gpu-rent list instances --label '${label}'`));
}

function evidenceOf(result: SearchResult, command: string): PurchaseEvidence {
  switch (result.type) {
    case 'found':
      return {
        found: `The machine was created all the same: instance ${result.id}. It bills.`,
        remedy: `Use it, or end it: gpu-rent destroy instance ${result.id}.`,
        isBought: true,
      };
    case 'absent':
      return {
        found: 'The rent was sent once; no new machine with its label is listed yet.',
        remedy: `Check again in a minute before you rent another: ${command}`,
      };
    case 'unknown':
      return {
        found: 'The rent was sent once, and the list cannot be read.',
        remedy: `Check before you rent another: ${command}`,
      };
  }
}

type SearchResult = { readonly type: 'found'; readonly id: string } | { readonly type: 'absent' | 'unknown' };

interface Sought extends Pick<Rent, 'before'> {
  readonly label: string;
  /** Machine that the failure itself names. */
  readonly named?: string | undefined;
}

async function findRented(
  client: MarketplaceClient,
  { label, before, named }: Sought,
): Promise<SearchResult> {
  try {
    const instances = await allInstances(client);
    const isNew = (row: Instance) => carries(row, label) && before !== undefined && !before.has(row.id);
    const match = instances.find((row) => row.id === named || isNew(row));
    if (match) return { type: 'found', id: match.id };
    return { type: before === undefined ? 'unknown' : 'absent' };
  } catch {
    return { type: 'unknown' };
  }
}

export const startInstance = instance.change('start', {
  did: 'started',
  change: (client, id) => client.instances.start(id),
});

export const stopInstance = instance.change('stop', {
  did: 'stopped',
  description:
    'A machine that carries the label of an operator is refused: set spec.powerState: Stopped of the object that owns it, or the operator starts it again.',
  ownedInstead: 'set its spec.powerState: Stopped, or the operator starts the machine again',
  change: (client, id) => client.instances.stop(id),
});

export const rebootInstance = instance.change('reboot', {
  did: 'rebooted',
  change: (client, id) => client.instances.reboot(id),
});

export const recycleInstance = instance.change('recycle', {
  did: 'recycled',
  question: (ids) => `Recycle instance ${ids}? The files of its container are lost.`,
  change: (client, id) => client.instances.recycle(id),
});

const RELABEL: Intended = {
  instead: 'leave its label alone: without it the operator does not know its machine',
  command: (id) => `gpu-rent label instance ${id} ""`,
};

/** Gives a machine another label. */
export const labelInstance: Command = {
  description:
    'The operator knows its machines by their labels: one that carries such a label (gpurental1...) keeps it unless --force is given.',
  examples: ['gpu-rent label instance 4711 "training run 7"'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '<label>', description: 'The new label.', mayBeEmpty: true },
  ],
  options: [FORCE],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const label = input.args[1] ?? '';
    await withMarketplace(input, context, async ({ client }) => {
      const machines = (await allInstances(client)).filter((machine) => machine.id === id);
      await refuseOwned(machines, input, RELABEL);
      await client.instances.label(id, label);
    });
    await createOutput(input, context).changed([
      { kind: 'instance', name: id, did: 'labelled', more: { label } },
    ]);
    return 0;
  },
};

/** Changes the bid of an interruptible machine. */
export const changeBid: Command = {
  examples: ['gpu-rent change bid 4711 0.35', 'gpu-rent change bid 4711'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '[price]', description: 'Dollars per hour; default: the price that wins now.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const [idText, priceText] = input.args;
    const id = parseId(idText, 'instance');
    const bid = priceText === undefined ? null : parseAmount(priceText, 'price');
    await withMarketplace(input, context, ({ client }) => client.instances.changeBid(id, bid));
    const did = bid === null ? 'bid set to the winning price' : `bid set to ${exactDollars(bid)}/h`;
    await createOutput(input, context).changed([{ kind: 'instance', name: id, did }]);
    return 0;
  },
};

const DESTROY: Intended = {
  instead: 'delete that object, or the operator rents another',
  command: (id) => `gpu-rent destroy instance ${id}`,
};

/** Destroys machines permanently. */
export const destroyInstance: Command = {
  description:
    'Asks first; without a terminal it needs --yes. A machine that carries the label of an operator is refused: delete the object that owns it, or the operator rents another. One that no object owns, as gpu-rent orphans shows it, is destroyed with --force.',
  examples: [
    'gpu-rent destroy instance 4711',
    'gpu-rent destroy instance 4711 4712 --yes',
    'gpu-rent destroy instance 4711 --force',
  ],
  args: [{ name: '<id...>', description: 'The instances.' }],
  options: [YES, FORCE],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const ids = parseIds(input.args, 'instance');
    const output = createOutput(input, context);
    return withMarketplace(input, context, async ({ client }) => {
      const listed = await allInstances(client);
      const selected = ids.map((id) => listedInstance(listed, id));
      await refuseOwned(selected, input, DESTROY);
      await confirmed(question(selected), input, context);
      await changeOneByOne(output, ids, async (id) => {
        await client.instances.destroy(id);
        return { kind: 'instance', name: id, did: 'destroyed' };
      });
      return 0;
    });
  },
};

function listedInstance(listed: readonly Instance[], id: string): Instance {
  const instance = listed.find((row) => row.id === id);
  if (instance) return instance;
  throw notFound(`There is no instance ${id}; nothing was destroyed.`, 'gpu-rent list instances shows all.');
}

function question(selected: readonly Instance[]): string {
  const names = selected.map(({ id, gpuName, pricePerHour }) => {
    const price = hourlyText(inDollars(pricePerHour));
    return `${id}${gpuName ? ` (${printableLine(gpuName)}${price ? `, ${price}/h` : ''})` : ''}`;
  });
  return `Destroy ${names.join(', ')} with everything on ${agreeing(selected.length, 'it', 'them')}?`;
}
