import { rm } from 'node:fs/promises';
import { Secret } from '../../lib/secret.ts';
import type { LoggedOutVerification } from '../../markets/vast/tfa/login.ts';
import type { LoggedOutTfa } from '../../markets/vast/tfa/tfa.ts';
import { printableLine } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { switchOption, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { searchApiKey, sessionKeyPath } from '../secrets/api-key.ts';
import { replaceSecret } from '../secrets/secret-file.ts';
import { withLoggedOut, withMarketplace } from '../sessions/marketplace-session.ts';
import {
  backupCodeOf,
  challengeSecret,
  codeOf,
  methodIdOf,
  methodOption,
  requireTypedCode,
  VERIFICATION_OPTIONS,
  verification,
} from '../tfa/verification.ts';
import { methodRow, methodView, statusLine, statusRow } from '../tfa/view.ts';

/** For the three commands whose calls accept a secret instead of a key. */
const LOGGED_OUT_OPTION = {
  flags: '--logged-out',
  description: 'Send no API key: the secret identifies you. Default if a secret and no key is found.',
};

/** Shows the configuration of the second factor. */
export const tfaStatus: Command = {
  examples: ['gpu-rent tfa status', 'gpu-rent tfa status -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    const status = await withMarketplace(input, context, ({ client }) => client.tfa.status());
    if (output.format === 'json' || output.format === 'yaml') await output.value(statusRow(status), '');
    else {
      context.stdout.write(`${statusLine(status)}\n`);
      if (status.methods.length > 0) await output.rows(methodView, status.methods.map(methodRow));
    }
    return 0;
  },
};

/** Completes a login with the second factor; later commands use the session. */
export const tfaLogin: Command = {
  description:
    'Sends a code if the method needs one, asks for it, and keeps the session key in the per-user folder (mode 0600). The ordinary key is used again when the session has ended. Without an API key the secret of the password step (--secret-file, GPU_RENT_TFA_SECRET) identifies you.',
  examples: [
    'gpu-rent tfa login',
    'gpu-rent tfa login --method totp --code 123456',
    'gpu-rent tfa login --use-backup-code',
    'gpu-rent tfa login --logged-out --secret-file login.txt --method totp',
  ],
  options: [
    ...VERIFICATION_OPTIONS,
    { flags: '--admin', description: "Ask for an administrator's session." },
    LOGGED_OUT_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const admin = switchOption(input.options, '--admin');
    const scope = admin ? { admin } : {};
    const alone = await secretInsteadOfKey(input, context);
    const login = alone
      ? await withLoggedOut(input, context, async (tfaWith) => {
          const { tfa, proof } = await loggedOutProof(tfaWith, alone, { input, context });
          return tfa.login({ ...proof, ...scope });
        })
      : await withMarketplace(input, context, async ({ client }) => {
          const proof = await verification(client.tfa, input, context);
          return client.tfa.login({ ...proof, ...scope });
        });
    const sessionKey = login.sessionKey ?? sessionOfCookie(login.sessionCookie);
    if (!sessionKey) throw failed('The service took the code and gave no session key.', 'Try again.');
    const path = sessionKeyPath(context.env);
    await replaceSecret(path, sessionKey).catch((error: NodeJS.ErrnoException) => {
      throw failed(
        `The session cannot be kept in ${path} (${error.code}).`,
        'Make the folder writable, or name another place: XDG_CONFIG_HOME. Then log in again.',
        error,
      );
    });
    const { backupCodesRemaining, legacyUser, user } = login;
    if (legacyUser)
      context.stderr.write('This is a legacy account: renew its codes with gpu-rent tfa regen-codes.\n');
    const left = backupCodesRemaining === undefined ? '' : ` ${backupCodesRemaining} backup codes remain.`;
    await createOutput(input, context).value(
      { userId: user.id, sessionKeySavedTo: path, backupCodesRemaining, legacyUser },
      `Logged in as ${printableLine(String(user.email ?? user.username ?? user.id))}; the session is kept in ${path}.${left}`,
    );
    return 0;
  },
};

/** Returns the session key in the cookie: a caller without a key gets its session as a cookie. */
function sessionOfCookie(cookie: Secret | undefined): Secret | undefined {
  const [, value] = /^[^=;]+=([^;]+)/.exec(cookie?.reveal() ?? '') ?? [];
  return value === undefined ? undefined : new Secret(value);
}

/** Ends the use of a session of a login with the second factor. */
export const tfaLogout: Command = {
  examples: ['gpu-rent tfa logout'],
  optionSets: ['output'],
  async run(input, context) {
    const path = sessionKeyPath(context.env);
    await rm(path, { force: true }).catch((error: NodeJS.ErrnoException) => {
      throw failed(
        `The session in ${path} cannot be removed (${error.code}).`,
        'Remove it yourself: commands use it until then.',
        error,
      );
    });
    await createOutput(input, context).value({ removed: path }, `${path} is gone; the ordinary key is used.`);
    return 0;
  },
};

/** Sends a code by email or SMS; the returned secret is needed together with the code. */
export const tfaSendCode: Command = {
  description:
    'Prints the secret of the challenge, which goes with the code to the command that uses it (--secret-file, GPU_RENT_TFA_SECRET). It is good for 10 minutes. The commands that need a code send one by themselves.',
  examples: [
    'gpu-rent tfa send-code email',
    'gpu-rent tfa send-code sms --phone +14155550100',
    'gpu-rent tfa send-code email --logged-out --secret-file login.txt',
  ],
  args: [{ name: '<channel>', description: 'email or sms.' }],
  options: [
    {
      flags: '--phone <number>',
      description: 'Number for the SMS (E.164); default: the number on file.',
    },
    { flags: '--method-id <id>', description: 'The SMS method, if there are several.' },
    { flags: '--secret <secret>', description: 'Continue this challenge; see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with that secret. Default: GPU_RENT_TFA_SECRET.' },
    LOGGED_OUT_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const [channel] = input.args;
    if (channel !== 'email' && channel !== 'sms') throw usageError(`"${channel}" is neither email nor sms.`);
    const target = smsTarget(options);
    const alone = await secretInsteadOfKey(input, context);
    const secret = alone ?? (await challengeSecret(options, context));
    const known = secret === undefined ? {} : { secret };
    const challenge = alone
      ? await withLoggedOut(input, context, (tfaWith) =>
          channel === 'email' ? tfaWith(alone).sendEmailCode() : tfaWith(alone).sendSmsCode(target),
        )
      : await withMarketplace(input, context, ({ client: { tfa } }) =>
          channel === 'email' ? tfa.sendEmailCode(known) : tfa.sendSmsCode({ ...known, ...target }),
        );
    context.stderr.write(`A code is on its way by ${channel}; it is good for 10 minutes.\n`);
    await createOutput(input, context).value(
      { channel, secret: challenge.secret.reveal() },
      challenge.secret.reveal(),
    );
    return 0;
  },
};

/** Returns the destination of an SMS by the options. Throws a usage error if --phone is no phone number. */
export function smsTarget(options: Readonly<Record<string, unknown>>) {
  const phoneNumber = textOption(options, '--phone');
  if (phoneNumber !== undefined && !/^\+[1-9]\d{5,14}$/.test(phoneNumber)) {
    throw usageError(`--phone: "${phoneNumber}" is not a number such as +14155550100.`);
  }
  return { ...(phoneNumber === undefined ? {} : { phoneNumber }), ...methodIdOf(options) };
}

/** Sends the code of an SMS challenge again. */
export const tfaResend: Command = {
  examples: ['gpu-rent tfa resend --secret-file challenge.txt'],
  options: [
    { flags: '--phone <number>', description: 'The same number as the first time.' },
    { flags: '--method-id <id>', description: 'The SMS method, if there are several.' },
    { flags: '--secret <secret>', description: 'Secret of the challenge; see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with that secret. Default: GPU_RENT_TFA_SECRET.' },
    LOGGED_OUT_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const target = smsTarget(input.options);
    const alone = await secretInsteadOfKey(input, context);
    const secret = alone ?? (await challengeSecret(input.options, context));
    const known = secret === undefined ? {} : { secret };
    const challenge = alone
      ? await withLoggedOut(input, context, (tfaWith) => tfaWith(alone).resendSmsCode(target))
      : await withMarketplace(input, context, ({ client }) =>
          client.tfa.resendSmsCode({ ...target, ...known }),
        );
    context.stderr.write('The code was sent again.\n');
    await createOutput(input, context).value(
      { channel: 'sms', secret: challenge.secret.reveal() },
      challenge.secret.reveal(),
    );
    return 0;
  },
};

/* Callers who are logged out: the secret of a login is their only credential (specification 4.8). */

/** Returns the secret that replaces a key; undefined if a key is used, or if neither exists. */
async function secretInsteadOfKey(
  { options }: CommandInput,
  context: CommandContext,
): Promise<Secret | undefined> {
  const isAsked = switchOption(options, '--logged-out');
  if (!isAsked && (await hasKey(options, context))) return undefined;
  const secret = await challengeSecret(options, context);
  if (secret || !isAsked) return secret;
  throw usageError(
    '--logged-out: the secret of the login is missing.',
    'Give --secret-file or GPU_RENT_TFA_SECRET.',
  );
}

/**
 * Returns true if a key is available. It does not read a key that an option names, which may come from stdin: stdin
 * can be read only once.
 */
async function hasKey(options: OptionValues, context: CommandContext): Promise<boolean> {
  const isNamed = ['--api-key', '--api-key-file'].some((flag) => textOption(options, flag) !== undefined);
  return isNamed || (await searchApiKey(options, context)) !== undefined;
}

/** A second factor, and the client for its secret. */
interface LoggedOutProof {
  readonly tfa: LoggedOutTfa;
  readonly proof: LoggedOutVerification;
}

/**
 * Sends a code if one is needed and none is given, prompts for it, and returns the data that complete the login.
 */
async function loggedOutProof(
  tfaWith: (secret: Secret) => LoggedOutTfa,
  secret: Secret,
  { input: { options }, context }: { readonly input: CommandInput; readonly context: CommandContext },
): Promise<LoggedOutProof> {
  const tfa = tfaWith(secret);
  const backupCode = await backupCodeOf(options, context);
  if (backupCode !== undefined) return { tfa, proof: { backupCode } };
  const method = methodOption(options);
  if (method === undefined) {
    throw usageError(
      '--method: without an API key your methods cannot be looked up.',
      'Give totp, sms or email.',
    );
  }
  const methodId = methodIdOf(options);
  if (method === 'totp' || textOption(options, '--code') !== undefined) {
    return { tfa, proof: { method, code: await codeOf(options, context), ...methodId } };
  }
  requireTypedCode(method, options, context);
  const challenge = method === 'email' ? await tfa.sendEmailCode() : await tfa.sendSmsCode(methodId);
  context.stderr.write(`A code is on its way by ${method}; it is good for 10 minutes.\n`);
  const proof = { method, code: await codeOf(options, context), ...methodId };
  return { tfa: tfaWith(challenge.secret), proof };
}
