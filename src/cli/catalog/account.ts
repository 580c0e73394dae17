import type { CatalogGroup } from '../catalog-entry.ts';

export const ACCOUNT: CatalogGroup = {
  heading: 'Account',
  entries: [
    {
      name: 'show user',
      summary: 'Show whose key it is, and the credit.',
      aliases: ['get user', 'whoami'],
      load: async () => (await import('../commands/show-user.ts')).showUser,
    },
    {
      name: 'list api-keys',
      summary: 'Show the API keys of the account, without their secrets.',
      aliases: ['show api-keys', 'get api-keys'],
      load: async () => (await import('../commands/list-api-keys.ts')).listApiKeys,
    },
    {
      name: 'show api-key',
      summary: 'Show one API key, without its secret.',
      aliases: ['get api-key'],
      load: async () => (await import('../commands/show-api-key.ts')).showApiKey,
    },
    {
      name: 'create api-key',
      summary: 'Create an API key; its secret is shown this once.',
      load: async () => (await import('../commands/create-api-key.ts')).createApiKey,
    },
    {
      name: 'delete api-key',
      summary: 'Delete API keys: whoever uses them is refused from then on.',
      load: async () => (await import('../commands/delete-api-key.ts')).deleteApiKey,
    },
    {
      name: 'list ssh-keys',
      summary: 'Show the SSH keys of the account.',
      aliases: ['show ssh-keys', 'get ssh-keys'],
      load: async () => (await import('../commands/list-ssh-keys.ts')).listSshKeys,
    },
    {
      name: 'create ssh-key',
      summary: 'Register a public SSH key on the account, before renting.',
      load: async () => (await import('../commands/create-ssh-key.ts')).createSshKey,
    },
    {
      name: 'delete ssh-key',
      summary: 'Delete SSH keys of the account.',
      load: async () => (await import('../commands/delete-ssh-key.ts')).deleteSshKey,
    },
    {
      name: 'attach ssh-key',
      summary: 'Add a public SSH key to a container that runs.',
      load: async () => (await import('../commands/attach-ssh-key.ts')).attachSshKey,
    },
    {
      name: 'list secrets',
      summary: "Show the names of the account's secret variables.",
      aliases: ['show secrets', 'list env-vars', 'show env-vars'],
      load: async () => (await import('../commands/list-secrets.ts')).listSecrets,
    },
    {
      name: 'create secret',
      summary: 'Set a secret variable in every container that the account rents.',
      aliases: ['create env-var'],
      load: async () => (await import('../commands/create-secret.ts')).createSecret,
    },
    {
      name: 'update secret',
      summary: 'Give a secret variable of the account another value.',
      aliases: ['update env-var'],
      load: async () => (await import('../commands/update-secret.ts')).updateSecret,
    },
    {
      name: 'delete secret',
      summary: 'Take secret variables of the account away.',
      aliases: ['delete env-var'],
      load: async () => (await import('../commands/delete-secret.ts')).deleteSecret,
    },
  ],
};
