import type { CatalogGroup } from '../catalog-entry.ts';

export const CLUSTER: CatalogGroup = {
  heading: 'Objects in the cluster',
  entries: [
    {
      name: 'plan',
      summary: 'Tell what a manifest would rent and cost, and why other offers lose. Nothing is spent.',
      load: async () => (await import('../commands/plan.ts')).planCommand,
    },
    {
      name: 'status',
      summary: 'Tell everything about one object: machine, money, timeline, what happens next.',
      load: async () => (await import('../commands/status.ts')).statusCommand,
    },
    {
      name: 'explain',
      summary: "Run the operator's own decision on an object and tell the rule that fires.",
      load: async () => (await import('../commands/explain.ts')).explainCommand,
    },
    {
      name: 'simulate epg',
      summary: 'Replay a load through the scaling of an EndpointGroup: what would it have done, and cost?',
      aliases: ['simulate endpointgroup'],
      load: async () => (await import('../commands/simulate-epg.ts')).simulateEpg,
    },
    {
      name: 'wait',
      summary: 'Wait until an object is ready, gone, or as a condition says.',
      load: async () => (await import('../commands/wait.ts')).waitCommand,
    },
    {
      name: 'cost',
      summary: 'Show what machines cost now, and what they have cost.',
      load: async () => (await import('../commands/cost.ts')).costCommand,
    },
    {
      name: 'pause',
      summary: 'Rent and replace nothing for an object; what runs goes on.',
      load: async () => (await import('../commands/pause.ts')).pauseCommand,
    },
    {
      name: 'resume',
      summary: 'End a pause: rent and replace again.',
      load: async () => (await import('../commands/resume.ts')).resumeCommand,
    },
    {
      name: 'import',
      summary: 'Write the manifest that takes a running machine over; --apply creates it.',
      load: async () => (await import('../commands/import.ts')).importCommand,
    },
    {
      name: 'logs',
      summary: "Show the log of a machine's container.",
      load: async () => (await import('../commands/logs.ts')).logsCommand,
    },
    {
      name: 'ssh',
      summary: 'Open a shell on a machine, or run a command there.',
      load: async () => (await import('../commands/ssh.ts')).sshCommand,
    },
    {
      name: 'orphans',
      summary: 'Show machines that bill and that no object claims.',
      load: async () => (await import('../commands/orphans.ts')).orphansCommand,
    },
    {
      name: 'avoid list',
      summary: 'Show machines and hosts that are not rented for a while.',
      load: async () => (await import('../commands/avoid-list.ts')).avoidList,
    },
    {
      name: 'avoid add',
      summary: 'Rent a machine or host no more for a while.',
      load: async () => (await import('../commands/avoid-add.ts')).avoidAdd,
    },
    {
      name: 'avoid clear',
      summary: 'Let machines or hosts be rented again.',
      load: async () => (await import('../commands/avoid-clear.ts')).avoidClear,
    },
    {
      name: 'doctor',
      summary:
        'Check cluster, rights, operator, accounts, keys, clocks and egress; each fault comes with a fix.',
      load: async () => (await import('../commands/doctor.ts')).doctorCommand,
    },
    {
      name: 'report',
      summary: 'Collect objects, events and checks for somebody who helps you; secrets are left out.',
      load: async () => (await import('../commands/report.ts')).reportCommand,
    },
    {
      name: 'reset identity',
      summary: 'Give an installation whose identity is lost a new one.',
      load: async () => (await import('../commands/reset-identity.ts')).resetIdentity,
    },
  ],
};
