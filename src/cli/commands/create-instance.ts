import { systemRandom } from '../../lib/random.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Instance, RentAnswer, RentRequest } from '../../marketplace/instances/instances.ts';
import { allInstances } from '../all-instances.ts';
import type { Command } from '../command.ts';
import { mayHaveBought, type PurchaseEvidence, uncertainPurchase } from '../failures/uncertain-purchase.ts';
import { parseId, requestTimeout, textOption } from '../options/option-values.ts';
import { RENT_OPTIONS, rentRequest } from '../options/rent-options.ts';
import { createOutput } from '../output/output.ts';
import { createProgress } from '../output/progress.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** The service answers a rent late where it has much to do. */
const RENT_DEADLINE_MS = 60_000;

/** Rents an offer. */
export const createInstance: Command = {
  name: 'create instance',
  summary: 'Rent an offer as a machine.',
  description:
    'The rent is sent once and never repeated. When its reply is lost, the list of machines is searched for its label, and what was found is said.',
  examples: [
    'gpu-rent create instance 123456 --image pytorch/pytorch --disk 32 --ssh --direct',
    'gpu-rent create instance 123456 --image vllm/vllm-openai -p 8000 -e HF_TOKEN --onstart start.sh',
    'gpu-rent create instance 123456 --image ubuntu:24.04 --bid 0.20',
  ],
  args: [{ name: '<offer>', description: 'The id of an offer (gpu-rent search offers).' }],
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
    const answer = await withMarketplace(input, context, async ({ client }) => {
      progress.say(`Renting offer ${offerId} …`);
      const before = ownLabel === undefined ? NONE : await labelled(client, label);
      return rentOnce(client, { offerId, request, deadlineMs, before }).finally(() => progress.clear());
    });
    const more = { offerId, label };
    // First: whatever becomes of the key, it is known that this machine bills.
    await createOutput(input, context).changed([
      { kind: 'instance', name: answer.instanceId, did: 'created', more },
    ]);
    if (answer.instanceApiKey) await file?.write(answer.instanceApiKey);
    return 0;
  },
};

interface Rent {
  readonly offerId: number;
  readonly request: RentRequest;
  readonly deadlineMs: number;
  /** Machines that carried the label already; undefined where that could not be seen. */
  readonly before: ReadonlySet<number> | undefined;
}

const NONE: ReadonlySet<number> = new Set();

/** A label that a person gives may be that of other machines, which are not to be taken for the new one. */
async function labelled(client: MarketplaceClient, label: string): Promise<ReadonlySet<number> | undefined> {
  const instances = await allInstances(client).catch(() => undefined);
  return instances && new Set(instances.filter((row) => carries(row, label)).map(({ id }) => id));
}

/** An empty label asks for none. */
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

/** The effect may have happened: look, and say what was seen. Nothing is rented again. */
async function uncertain(
  client: MarketplaceClient,
  error: MarketplaceError,
  { label, before }: Sought,
): Promise<Error> {
  const look = await lookFor(client, { label, before, named: error.instanceId });
  return uncertainPurchase(error, afterLook(look, `gpu-rent list instances --label '${label}'`));
}

function afterLook(look: Look, command: string): PurchaseEvidence {
  switch (look.type) {
    case 'found':
      return {
        found: `The machine exists all the same: instance ${look.id}. It bills.`,
        remedy: `Use it, or end it: gpu-rent destroy instance ${look.id}.`,
        isBought: true,
      };
    case 'absent':
      return {
        found: 'It was sent once and not repeated; no new machine with its label is listed yet.',
        remedy: `Look again in a minute before you rent another: ${command}`,
      };
    case 'unknown':
      return {
        found: 'It was sent once and not repeated, and the list cannot be read.',
        remedy: `Look before you rent another: ${command}`,
      };
  }
}

type Look = { readonly type: 'found'; readonly id: number } | { readonly type: 'absent' | 'unknown' };

interface Sought extends Pick<Rent, 'before'> {
  readonly label: string;
  /** The machine that the failure itself names. */
  readonly named?: number | undefined;
}

async function lookFor(client: MarketplaceClient, { label, before, named }: Sought): Promise<Look> {
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
