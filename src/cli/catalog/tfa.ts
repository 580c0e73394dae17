import type { CatalogGroup } from '../catalog-entry.ts';

export const TFA: CatalogGroup = {
  heading: 'Second factor',
  entries: [
    {
      name: 'tfa status',
      summary: 'Show what is set up for the second factor.',
      load: async () => (await import('../commands/tfa-status.ts')).tfaStatus,
    },
    {
      name: 'tfa login',
      summary: 'Log in with the second factor; later commands use that session.',
      load: async () => (await import('../commands/tfa-login.ts')).tfaLogin,
    },
    {
      name: 'tfa logout',
      summary: 'Forget the session of a login with the second factor.',
      load: async () => (await import('../commands/tfa-logout.ts')).tfaLogout,
    },
    {
      name: 'tfa add',
      summary: 'Set up an authenticator app or SMS, step by step.',
      load: async () => (await import('../commands/tfa-add.ts')).tfaAdd,
    },
    {
      name: 'tfa send-code',
      summary: 'Send a code by email or SMS.',
      load: async () => (await import('../commands/tfa-send-code.ts')).tfaSendCode,
    },
    {
      name: 'tfa resend',
      summary: 'Send the code of an SMS again.',
      load: async () => (await import('../commands/tfa-resend.ts')).tfaResend,
    },
    {
      name: 'tfa totp-setup',
      summary: 'Make a secret for an authenticator app; it counts once it is confirmed.',
      load: async () => (await import('../commands/tfa-totp-setup.ts')).tfaTotpSetup,
    },
    {
      name: 'tfa authorize',
      summary: 'Allow a new method to be added within 30 minutes.',
      load: async () => (await import('../commands/tfa-authorize.ts')).tfaAuthorize,
    },
    {
      name: 'tfa confirm',
      summary: 'Add a method whose code you have, after tfa authorize.',
      load: async () => (await import('../commands/tfa-confirm.ts')).tfaConfirm,
    },
    {
      name: 'tfa update',
      summary: 'Name a method, or make it the primary one.',
      load: async () => (await import('../commands/tfa-update.ts')).tfaUpdate,
    },
    {
      name: 'tfa delete',
      summary: 'Remove a method; with the last one the second factor is off.',
      load: async () => (await import('../commands/tfa-delete.ts')).tfaDelete,
    },
    {
      name: 'tfa regen-codes',
      summary: 'Replace all backup codes by ten new ones, shown once.',
      load: async () => (await import('../commands/tfa-regen-codes.ts')).tfaRegenCodes,
    },
  ],
};
