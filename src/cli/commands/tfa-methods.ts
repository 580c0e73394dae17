import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../command-error.ts';
import { parseId, switchOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import {
  authorizeAddition,
  confirmRequest,
  keepBackupCodes,
  keptCodesText,
  labelOption,
  namedCodesFile,
  reportConfirmation,
  SAVE_CODES_OPTION,
} from '../tfa/new-method.ts';
import {
  challengeSecret,
  codeOf,
  sendCode,
  VERIFICATION_OPTIONS,
  type Verification,
  verification,
} from '../tfa/verification.ts';
import { methodRow, methodView } from '../tfa/view.ts';
import { smsTarget } from './tfa.ts';

/** Adds a method in one dialogue: authorize, send or show, confirm, save the backup codes. */
export const tfaAdd: Command = {
  description:
    'Asks for a code that authorizes the addition (by email, an existing method or a backup code), then for one that proves the new method. The first method brings ten backup codes, shown once.',
  examples: ['gpu-rent tfa add totp --label phone', 'gpu-rent tfa add sms --phone +14155550100'],
  args: [{ name: '<method>', description: 'totp or sms.' }],
  options: [
    { flags: '--phone <number>', description: 'The number of an SMS method (E.164).' },
    { flags: '--label <text>', description: 'A name of at most 30 characters.' },
    {
      flags: '--by <method>',
      description: 'Method for the authorizing code.',
      choices: ['email', 'sms', 'totp'],
    },
    { flags: '--use-backup-code', description: 'Authorize by a backup code, typed without echo.' },
    { flags: '--backup-code-file <file>', description: 'Backup code in a file.' },
    SAVE_CODES_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const [method] = input.args;
    if (method !== 'totp' && method !== 'sms') throw usageError(`"${method}" is neither totp nor sms.`);
    labelOption(input.options);
    if (!context.stdin.isTTY) {
      throw usageError(
        'tfa add asks for codes, and stdin is not a terminal.',
        'In a script use tfa authorize, then tfa totp-setup or tfa send-code sms, then tfa confirm.',
      );
    }
    await using file = await namedCodesFile(input);
    const confirmation = await withMarketplace(input, context, async ({ client: { tfa } }) => {
      const { newMethodAuthorized } = await tfa.status();
      if (!newMethodAuthorized) await authorizeAddition(tfa, authorizingInput(input), context);
      const secret = await newSecret(tfa, method, { input, context });
      return tfa.confirmNewMethod(
        confirmRequest(input.options, { method, code: await codeOf({}, context), secret }),
      );
    });
    await reportConfirmation(method, confirmation, { input, context, file });
    return 0;
  },
};

/** Returns the input of the authorization: `--by` selects its method; the rest of that step is prompted for. */
function authorizingInput({ options }: CommandInput): CommandInput {
  const { by, useBackupCode, backupCodeFile } = options;
  return { args: [], options: { method: by, useBackupCode, backupCodeFile } };
}

async function newSecret(
  tfa: MarketplaceClient['tfa'],
  method: 'totp' | 'sms',
  { input, context }: { input: CommandInput; context: CommandContext },
): Promise<Secret> {
  if (method === 'sms') {
    return sendCode(tfa, { method, ...smsTarget(input.options) }, context);
  }
  const made = await tfa.setUpTotp();
  context.stderr.write(`Add this to your authenticator app, then type the code that it shows:\n`);
  context.stderr.write(`  secret   ${made.secret.reveal()}\n  address  ${made.provisioningUri.reveal()}\n`);
  return made.secret;
}

/** Creates a secret for an authenticator. The method is only added when it is confirmed. */
export const tfaTotpSetup: Command = {
  description:
    'Prints the secret and its otpauth address. gpu-rent tfa confirm --method totp --secret-file … adds it; gpu-rent tfa add totp does all in one dialogue.',
  examples: ['gpu-rent tfa totp-setup -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const made = await withMarketplace(input, context, ({ client }) => client.tfa.setUpTotp());
    const secret = made.secret.reveal();
    const provisioningUri = made.provisioningUri.reveal();
    await createOutput(input, context).value(
      { secret, provisioningUri },
      `Secret:   ${secret}\nAddress:  ${provisioningUri}\n`,
    );
    return 0;
  },
};

const NEXT = 'gpu-rent tfa authorize --code CODE --secret-file FILE';

/** Opens the 30 minutes in which a method may be added. */
export const tfaAuthorize: Command = {
  description:
    'Sends a code, waits for it at a terminal and confirms. Without a terminal it prints the secret of the challenge instead of waiting; call it again with --code and that secret (--secret-file, GPU_RENT_TFA_SECRET) to confirm. The code and secret of gpu-rent tfa send-code confirm as well. gpu-rent tfa add does all of this in one dialogue.',
  examples: [
    'gpu-rent tfa authorize',
    'gpu-rent tfa authorize --method totp --code 123456',
    'gpu-rent tfa authorize --method email -o json > challenge.json',
    'gpu-rent tfa authorize --code 123456 --secret-file challenge.txt',
  ],
  options: VERIFICATION_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    const authorization = await withMarketplace(input, context, ({ client }) =>
      authorizeAddition(client.tfa, input, context),
    );
    if (authorization.type === 'granted') {
      const text = 'A new method may be added within the next 30 minutes.';
      await output.value({ authorized: true, minutes: 30 }, text);
      return 0;
    }
    const secret = authorization.secret.reveal();
    context.stderr.write(`The code is good for 10 minutes. Then run: ${NEXT}\n`);
    await output.value({ authorized: false, secret, next: NEXT }, secret);
    return 0;
  },
};

/** Adds a method, within 30 minutes of its authorization. */
export const tfaConfirm: Command = {
  description:
    'The secret is that of the SMS challenge, or the one that totp-setup made. The first method brings ten backup codes, shown once.',
  examples: [
    'gpu-rent tfa confirm --method totp --secret-file totp.txt --code 123456 --label phone',
    'gpu-rent tfa confirm --method sms --secret-file challenge.txt --phone +14155550100',
  ],
  options: [
    { flags: '--method <method>', description: 'Default: totp.', choices: ['totp', 'sms'] },
    { flags: '--code <code>', description: 'The code of six digits; prompts if left out.' },
    { flags: '--secret <secret>', description: 'Better in a file: see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with the secret. Default: GPU_RENT_TFA_SECRET.' },
    { flags: '--phone <number>', description: 'The number of an SMS method (E.164).' },
    { flags: '--label <text>', description: 'A name of at most 30 characters.' },
    SAVE_CODES_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const method = options.method === 'sms' ? 'sms' : 'totp';
    const secret = await challengeSecret(options, context);
    if (!secret) throw usageError('The secret is missing.', 'Give --secret-file, or use gpu-rent tfa add.');
    const request = confirmRequest(options, { method, code: await codeOf(options, context), secret });
    await using file = await namedCodesFile(input);
    const confirmation = await withMarketplace(input, context, ({ client }) =>
      client.tfa.confirmNewMethod(request),
    );
    await reportConfirmation(method, confirmation, { input, context, file });
    return 0;
  },
};

/** Names a method, or makes it the primary one. */
export const tfaUpdate: Command = {
  examples: ['gpu-rent tfa update 3 --label "work phone"', 'gpu-rent tfa update totp --primary'],
  args: [{ name: '<method>', description: 'Its id; or totp or sms if there is one of that kind.' }],
  options: [
    { flags: '--label <text>', description: 'At most 30 characters.', mayBeEmpty: true },
    { flags: '--primary', description: 'Make it the primary method.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const label = labelOption(input.options);
    const isPrimary = switchOption(input.options, '--primary');
    if (label === undefined && !isPrimary)
      throw usageError('No change was given.', 'Give --label or --primary.');
    const changes = { ...(label === undefined ? {} : { label }), ...(isPrimary ? { isPrimary } : {}) };
    const [name] = input.args;
    const which =
      name === 'totp' || name === 'sms' ? ({ method: name } as const) : { methodId: parseId(name, 'method') };
    const method = await withMarketplace(input, context, ({ client }) =>
      client.tfa.updateMethod({ ...which, ...changes }),
    );
    await createOutput(input, context).row(methodView, methodRow(method));
    return 0;
  },
};

/** Removes a method; removing the last one disables the second factor. */
export const tfaDelete: Command = {
  examples: ['gpu-rent tfa delete 3', 'gpu-rent tfa delete --method totp --code 123456'],
  args: [{ name: '[id]', description: 'The method to remove; the one that verifies if left out.' }],
  options: VERIFICATION_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const removal = await withMarketplace(input, context, async ({ client: { tfa } }) =>
      tfa.removeMethod(removeRequest(input, await verification(tfa, input, context))),
    );
    const { remainingMethods } = removal;
    const text =
      remainingMethods === undefined
        ? 'The last method is removed: the second factor is off, and its backup codes are void.'
        : `The method is removed; ${remainingMethods} remain.`;
    await createOutput(input, context).value(
      { removed: true, remainingMethods: remainingMethods ?? 0 },
      text,
    );
    return 0;
  },
};

function removeRequest({ args }: CommandInput, proof: Verification) {
  const targetId = args[0] === undefined ? undefined : parseId(args[0], 'method');
  if (!('backupCode' in proof)) return { ...proof, ...(targetId === undefined ? {} : { targetId }) };
  if (targetId === undefined) {
    throw usageError('A backup code names no method to remove.', 'gpu-rent tfa status shows the ids.');
  }
  return { ...proof, targetId };
}

/** Replaces all backup codes by ten new ones. */
export const tfaRegenCodes: Command = {
  examples: ['gpu-rent tfa regen-codes --save-codes backup-codes.txt'],
  options: [...VERIFICATION_OPTIONS, SAVE_CODES_OPTION],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    await using file = await namedCodesFile(input);
    const codes = await withMarketplace(input, context, async ({ client: { tfa } }) =>
      tfa.regenerateBackupCodes(await verification(tfa, input, context)),
    );
    const kept = await keepBackupCodes(codes, file, context);
    await createOutput(input, context).value(kept, keptCodesText(kept));
    return 0;
  },
};
