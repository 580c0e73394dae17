import type { CatalogGroup } from '../catalog-entry.ts';

export const TOOLS: CatalogGroup = {
  heading: 'Programs and tools',
  entries: [
    {
      name: 'operator',
      summary: 'Run the operator: it rents, watches, replaces and destroys what GpuInstances ask for.',
      load: async () => (await import('../commands/operator.ts')).operatorCommand,
    },
    {
      name: 'simulator',
      summary: 'Run a whole marketplace on loopback, with time, money and faults.',
      load: async () => (await import('../commands/simulator.ts')).simulatorCommand,
    },
    {
      name: 'api',
      summary: 'Send any call to the marketplace, and print its reply.',
      load: async () => (await import('../commands/api.ts')).apiCommand,
    },
    {
      name: 'completion',
      summary: 'Print the script that completes commands, options and names in a shell.',
      load: async () => (await import('../commands/completion.ts')).completionCommand,
    },
    {
      name: 'completion install',
      summary: 'Write the completion script to where the shell (or kubectl) finds it.',
      load: async () => (await import('../commands/completion-install.ts')).completionInstall,
    },
    {
      name: 'version',
      summary: 'Show which version this is.',
      load: async () => (await import('../commands/version.ts')).versionCommand,
    },
  ],
};
