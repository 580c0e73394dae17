import { systemRandom } from '../../lib/random.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { RentAnswer, RentRequest } from '../../marketplace/instances/instances.ts';
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
    const label = textOption(input.options, '--label') ?? `gpu-rent-${systemRandom.uuid().slice(0, 13)}`;
    const request: RentRequest = { ...(await rentRequest(input, context)), label };
    const path = textOption(input.options, '--save-key');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save-key');
    const deadlineMs = requestTimeout(input.options) ?? RENT_DEADLINE_MS;
    const progress = createProgress(context);
    const answer = await withMarketplace(input, context, async ({ client }) => {
      progress.say(`Renting offer ${offerId} …`);
      return rentOnce(client, { offerId, request, deadlineMs }).finally(() => progress.clear());
    });
    if (answer.instanceApiKey) await file?.write(answer.instanceApiKey);
    const more = { offerId, label };
    await createOutput(input, context).changed([
      { kind: 'instance', name: answer.instanceId, did: 'created', more },
    ]);
    return 0;
  },
};

async function rentOnce(
  client: MarketplaceClient,
  { offerId, request, deadlineMs }: { offerId: number; request: RentRequest; deadlineMs: number },
): Promise<RentAnswer> {
  try {
    return await client.instances.rent(offerId, request, { deadlineMs });
  } catch (error) {
    throw mayHaveBought(error) ? await uncertain(client, error, request.label ?? '') : error;
  }
}

/** The effect may have happened: look, and say what was seen. Nothing is rented again. */
async function uncertain(client: MarketplaceClient, error: MarketplaceError, label: string): Promise<Error> {
  const look = await lookFor(client, label, error.instanceId);
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
        found: 'It was sent once and not repeated; no machine with its label is listed yet.',
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

async function lookFor(client: MarketplaceClient, label: string, named: number | undefined): Promise<Look> {
  try {
    const instances = await allInstances(client);
    const match = instances.find((row) => row.id === named || row.label === label);
    return match ? { type: 'found', id: match.id } : { type: 'absent' };
  } catch {
    return { type: 'unknown' };
  }
}
