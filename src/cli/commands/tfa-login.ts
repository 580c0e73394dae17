import { Secret } from '../../lib/secret.ts';
import type { Command } from '../command.ts';
import { failed } from '../failures/command-error.ts';
import { switchOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { printableLine } from '../output/printable.ts';
import { sessionKeyPath } from '../secrets/api-key.ts';
import { replaceSecret } from '../secrets/secret-file.ts';
import { withLoggedOut, withMarketplace } from '../sessions/marketplace-session.ts';
import { LOGGED_OUT_OPTION, loggedOutProof, secretInsteadOfKey } from '../tfa/logged-out.ts';
import { VERIFICATION_OPTIONS, verification } from '../tfa/verification.ts';

/** Completes a login with the second factor; later commands use the session. */
export const tfaLogin: Command = {
  name: 'tfa login',
  summary: 'Log in with the second factor; later commands use that session.',
  description:
    'Sends a code where the method needs one, asks for it, and keeps the session key in the per-user folder (mode 0600). The ordinary key is used again when the session has ended. Without an API key the secret of the password step (--secret-file, GPU_RENT_TFA_SECRET) identifies you.',
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
    const wish = admin ? { admin } : {};
    const alone = await secretInsteadOfKey(input, context);
    const login = alone
      ? await withLoggedOut(input, context, async (tfaWith) => {
          const { tfa, proof } = await loggedOutProof(tfaWith, alone, { input, context });
          return tfa.login({ ...proof, ...wish });
        })
      : await withMarketplace(input, context, async ({ client }) => {
          const proof = await verification(client.tfa, input, context);
          return client.tfa.login({ ...proof, ...wish });
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

/** A caller without a key gets its session as a cookie; its value is the key that later calls send. */
function sessionOfCookie(cookie: Secret | undefined): Secret | undefined {
  const [, value] = /^[^=;]+=([^;]+)/.exec(cookie?.reveal() ?? '') ?? [];
  return value === undefined ? undefined : new Secret(value);
}
