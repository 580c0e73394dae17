import type { CatalogGroup } from './command.ts';

/**
 * Every command, under the headings and in the order of the help. Name, summary and aliases are declared here alone; the
 * rest of a command is loaded when it is asked for, so that help and completion stay quick.
 */
export const catalog: readonly CatalogGroup[] = [
  {
    heading: 'Objects in the cluster',
    entries: [
      {
        name: 'run',
        summary: 'Rent a machine for a GPU and an image, after a question, and open a shell on it.',
        load: async () => (await import('./commands/run.ts')).runCommand,
      },
      {
        name: 'plan',
        summary: 'Show what a manifest would rent and cost, and why other offers lose. Spends nothing.',
        load: async () => (await import('./commands/plan.ts')).planCommand,
      },
      {
        name: 'diff',
        summary:
          'Show what a manifest changes of objects that exist, and of their machines. Changes nothing.',
        load: async () => (await import('./commands/diff.ts')).diffCommand,
      },
      {
        name: 'status',
        summary: 'Show everything about one object: machine, cost, timeline, next step.',
        load: async () => (await import('./commands/status.ts')).statusCommand,
      },
      {
        name: 'top',
        summary: 'Watch EndpointGroups (requests, load, workers, cost) or machines (GPU used, cost).',
        load: async () => (await import('./commands/top.ts')).topCommand,
      },
      {
        name: 'explain',
        summary: "Run the operator's own decision on an object and show the rule that fires.",
        load: async () => (await import('./commands/explain.ts')).explainCommand,
      },
      {
        name: 'simulate epg',
        summary: 'Replay a load through the scaling of an EndpointGroup: what would it have done, and cost?',
        aliases: ['simulate endpointgroup'],
        load: async () => (await import('./commands/simulate-epg.ts')).simulateEpg,
      },
      {
        name: 'wait',
        summary: 'Wait until an object is ready, gone, or as a condition says.',
        load: async () => (await import('./commands/wait.ts')).waitCommand,
      },
      {
        name: 'cost',
        summary: 'Show what machines cost now, and what they have cost.',
        load: async () => (await import('./commands/cost.ts')).costCommand,
      },
      {
        name: 'pause',
        summary: 'Rent and replace nothing for an object; what runs goes on.',
        load: async () => (await import('./commands/pause.ts')).pauseCommand,
      },
      {
        name: 'resume',
        summary: 'End a pause: rent and replace again.',
        load: async () => (await import('./commands/pause.ts')).resumeCommand,
      },
      {
        name: 'stop',
        summary: 'Stop the machine of an object: the GPU is free, the disk still bills.',
        load: async () => (await import('./commands/object-verbs.ts')).stopCommand,
      },
      {
        name: 'start',
        summary: 'Start the machine of a stopped object, or rent one.',
        load: async () => (await import('./commands/object-verbs.ts')).startCommand,
      },
      {
        name: 'restart',
        summary: "Restart the container on an object's machine; its disk stays.",
        load: async () => (await import('./commands/object-verbs.ts')).restartCommand,
      },
      {
        name: 'replace',
        summary: 'Destroy the machine of an object with its disk, and rent another.',
        load: async () => (await import('./commands/object-verbs.ts')).replaceCommand,
      },
      {
        name: 'hold',
        summary: 'Keep the machine of an object from being replaced; --release ends it.',
        load: async () => (await import('./commands/object-verbs.ts')).holdCommand,
      },
      {
        name: 'wake',
        summary: 'Ask an EndpointGroup for one hot worker now.',
        load: async () => (await import('./commands/object-verbs.ts')).wakeCommand,
      },
      {
        name: 'reconcile',
        summary: 'Have the operator reconcile an object now, and wait until it has.',
        load: async () => (await import('./commands/object-verbs.ts')).reconcileCommand,
      },
      {
        name: 'import',
        summary: 'Write the manifest that takes a running machine over; --apply creates it.',
        load: async () => (await import('./commands/import.ts')).importCommand,
      },
      {
        name: 'logs',
        summary: "Show the log of a machine's container.",
        load: async () => (await import('./commands/logs.ts')).logsCommand,
      },
      {
        name: 'ssh',
        summary: 'Open a shell on a machine, or run a command there.',
        load: async () => (await import('./commands/ssh.ts')).sshCommand,
      },
      {
        name: 'exec',
        summary: 'Run a program on a machine, and end with its exit code.',
        load: async () => (await import('./commands/ssh.ts')).execCommand,
      },
      {
        name: 'cp',
        summary: 'Copy files and folders to or from a machine; an interrupted copy goes on.',
        load: async () => (await import('./commands/cp.ts')).cpCommand,
      },
      {
        name: 'port-forward',
        summary: 'Lead ports of this machine to ports of a rented one.',
        load: async () => (await import('./commands/port-forward.ts')).portForwardCommand,
      },
      {
        name: 'ssh-config',
        summary: 'Write the hosts that ssh, scp, rsync and editors need.',
        load: async () => (await import('./commands/ssh-config.ts')).sshConfigCommand,
      },
      {
        name: 'orphans',
        summary: 'Show machines that bill and that no object claims.',
        load: async () => (await import('./commands/orphans.ts')).orphansCommand,
      },
      {
        name: 'avoid list',
        summary: 'Show machines and hosts that are not rented for a while.',
        load: async () => (await import('./commands/avoid.ts')).avoidList,
      },
      {
        name: 'avoid add',
        summary: 'Rent a machine or host no more for a while.',
        load: async () => (await import('./commands/avoid.ts')).avoidAdd,
      },
      {
        name: 'avoid clear',
        summary: 'Let machines or hosts be rented again.',
        load: async () => (await import('./commands/avoid.ts')).avoidClear,
      },
      {
        name: 'doctor',
        summary:
          'Check cluster, rights, operator, accounts, keys, clocks and egress; each fault comes with a fix.',
        load: async () => (await import('./commands/doctor.ts')).doctorCommand,
      },
      {
        name: 'report',
        summary: 'Collect objects, events and checks for a bug report; secrets are left out.',
        load: async () => (await import('./commands/report.ts')).reportCommand,
      },
      {
        name: 'reset identity',
        summary: 'Give an installation whose identity is lost a new one.',
        load: async () => (await import('./commands/reset-identity.ts')).resetIdentity,
      },
    ],
  },
  {
    heading: 'Machines at the marketplace',
    entries: [
      {
        name: 'search offers',
        summary: 'Find machines for rent.',
        aliases: ['search offer'],
        load: async () => (await import('./commands/offers.ts')).searchOffers,
      },
      {
        name: 'list gpus',
        summary: 'Show the GPU models that are for rent: names, memory, offers, prices, regions.',
        aliases: ['list gpu', 'show gpus'],
        load: async () => (await import('./commands/gpus.ts')).listGpus,
      },
      {
        name: 'create instance',
        summary: 'Rent an offer as a machine.',
        load: async () => (await import('./commands/instances.ts')).createInstance,
      },
      {
        name: 'list instances',
        summary: 'Show the machines that the login rents.',
        aliases: ['list instance', 'show instances', 'get instances'],
        load: async () => (await import('./commands/instances.ts')).listInstances,
      },
      {
        name: 'show instance',
        summary: 'Show one rented machine.',
        aliases: ['get instance'],
        load: async () => (await import('./commands/instances.ts')).showInstance,
      },
      {
        name: 'start instance',
        summary: 'Start stopped machines.',
        aliases: ['start instances'],
        load: async () => (await import('./commands/instances.ts')).startInstance,
      },
      {
        name: 'stop instance',
        summary: 'Stop machines: the GPU is free, the disk still bills.',
        aliases: ['stop instances'],
        load: async () => (await import('./commands/instances.ts')).stopInstance,
      },
      {
        name: 'reboot instance',
        summary: 'Restart the container; its disk stays.',
        aliases: ['reboot instances'],
        load: async () => (await import('./commands/instances.ts')).rebootInstance,
      },
      {
        name: 'recycle instance',
        summary: 'Create the container again from its image.',
        aliases: ['recycle instances'],
        load: async () => (await import('./commands/instances.ts')).recycleInstance,
      },
      {
        name: 'label instance',
        summary: 'Give a machine another label; an empty one removes it.',
        load: async () => (await import('./commands/instances.ts')).labelInstance,
      },
      {
        name: 'change bid',
        summary: 'Change the bid of an interruptible machine.',
        load: async () => (await import('./commands/instances.ts')).changeBid,
      },
      {
        name: 'destroy instance',
        summary: 'Destroy machines with everything on them; billing ends.',
        aliases: ['destroy instances'],
        load: async () => (await import('./commands/instances.ts')).destroyInstance,
      },
    ],
  },
  {
    heading: 'Endpoint groups of the marketplace',
    entries: [
      {
        name: 'create endpoint',
        summary: 'Create an endpoint group that the marketplace scales.',
        load: async () => (await import('./commands/endpoints.ts')).createEndpoint,
      },
      {
        name: 'list endpoints',
        summary: 'Show the endpoint groups that the marketplace scales.',
        aliases: ['list endpoint', 'show endpoints', 'get endpoints'],
        load: async () => (await import('./commands/endpoints.ts')).listEndpoints,
      },
      {
        name: 'get endpoint',
        summary: 'Show one endpoint group.',
        aliases: ['show endpoint'],
        load: async () => (await import('./commands/endpoints.ts')).getEndpoint,
      },
      {
        name: 'update endpoint',
        summary: 'Change an endpoint group; what is not given stays.',
        load: async () => (await import('./commands/endpoints.ts')).updateEndpoint,
      },
      {
        name: 'delete endpoint',
        summary: 'Delete endpoint groups; their worker groups go too.',
        load: async () => (await import('./commands/endpoints.ts')).deleteEndpoint,
      },
      {
        name: 'create workergroup',
        summary: 'Create a worker group in an endpoint group of the marketplace.',
        load: async () => (await import('./commands/workergroups.ts')).createWorkergroup,
      },
      {
        name: 'list workergroups',
        summary: 'Show the worker groups of endpoint groups.',
        aliases: ['list workergroup', 'show workergroups', 'get workergroups'],
        load: async () => (await import('./commands/workergroups.ts')).listWorkergroups,
      },
      {
        name: 'get workergroup',
        summary: 'Show one worker group.',
        aliases: ['show workergroup'],
        load: async () => (await import('./commands/workergroups.ts')).getWorkergroup,
      },
      {
        name: 'update workergroup',
        summary: 'Change a worker group; what is not given stays.',
        load: async () => (await import('./commands/workergroups.ts')).updateWorkergroup,
      },
      {
        name: 'delete workergroup',
        summary: 'Delete worker groups.',
        load: async () => (await import('./commands/workergroups.ts')).deleteWorkergroup,
      },
    ],
  },
  {
    heading: 'Volumes',
    entries: [
      {
        name: 'search volumes',
        summary: 'Find disk for rent.',
        aliases: ['search volume'],
        load: async () => (await import('./commands/volumes.ts')).searchVolumes,
      },
      {
        name: 'rent volume',
        summary: 'Rent disk as a volume.',
        load: async () => (await import('./commands/volumes.ts')).rentVolume,
      },
      {
        name: 'list volumes',
        summary: 'Show the volumes that the login rents.',
        aliases: ['show volumes', 'get volumes'],
        load: async () => (await import('./commands/volumes.ts')).listVolumes,
      },
      {
        name: 'delete volume',
        summary: 'Delete volumes that you rent, with everything on them.',
        load: async () => (await import('./commands/volumes.ts')).deleteVolume,
      },
      {
        name: 'offer volume',
        summary: 'For hosts: put disk of machines up for rent.',
        load: async () => (await import('./commands/volumes.ts')).offerVolume,
      },
      {
        name: 'unlist volume',
        summary: 'For hosts: take a volume listing down, so that it cannot be rented any more.',
        load: async () => (await import('./commands/volumes.ts')).unlistVolume,
      },
    ],
  },
  {
    heading: 'Account',
    entries: [
      {
        name: 'show user',
        summary: 'Show whose key it is, and the credit.',
        aliases: ['get user', 'whoami'],
        load: async () => (await import('./commands/user.ts')).showUser,
      },
      {
        name: 'list api-keys',
        summary: 'Show the API keys of the account, without their secrets.',
        aliases: ['show api-keys', 'get api-keys'],
        load: async () => (await import('./commands/api-keys.ts')).listApiKeys,
      },
      {
        name: 'show api-key',
        summary: 'Show one API key, without its secret.',
        aliases: ['get api-key'],
        load: async () => (await import('./commands/api-keys.ts')).showApiKey,
      },
      {
        name: 'create api-key',
        summary: 'Create an API key; its secret is shown this once.',
        load: async () => (await import('./commands/api-keys.ts')).createApiKey,
      },
      {
        name: 'delete api-key',
        summary: 'Delete API keys; calls with them are refused from then on.',
        load: async () => (await import('./commands/api-keys.ts')).deleteApiKey,
      },
      {
        name: 'list ssh-keys',
        summary: 'Show the SSH keys of the account.',
        aliases: ['show ssh-keys', 'get ssh-keys'],
        load: async () => (await import('./commands/ssh-keys.ts')).listSshKeys,
      },
      {
        name: 'create ssh-key',
        summary: 'Register a public SSH key on the account, before renting.',
        load: async () => (await import('./commands/ssh-keys.ts')).createSshKey,
      },
      {
        name: 'delete ssh-key',
        summary: 'Delete SSH keys of the account.',
        load: async () => (await import('./commands/ssh-keys.ts')).deleteSshKey,
      },
      {
        name: 'attach ssh-key',
        summary: 'Add a public SSH key to a container that runs.',
        load: async () => (await import('./commands/ssh-keys.ts')).attachSshKey,
      },
      {
        name: 'list secrets',
        summary: "Show the names of the account's secret variables.",
        aliases: ['show secrets', 'list env-vars', 'show env-vars'],
        load: async () => (await import('./commands/secrets.ts')).listSecrets,
      },
      {
        name: 'create secret',
        summary: 'Set a secret variable in every container that the account rents.',
        aliases: ['create env-var'],
        load: async () => (await import('./commands/secrets.ts')).createSecret,
      },
      {
        name: 'update secret',
        summary: 'Give a secret variable of the account another value.',
        aliases: ['update env-var'],
        load: async () => (await import('./commands/secrets.ts')).updateSecret,
      },
      {
        name: 'delete secret',
        summary: 'Take secret variables of the account away.',
        aliases: ['delete env-var'],
        load: async () => (await import('./commands/secrets.ts')).deleteSecret,
      },
    ],
  },
  {
    heading: 'Second factor',
    entries: [
      {
        name: 'tfa status',
        summary: 'Show what is set up for the second factor.',
        load: async () => (await import('./commands/tfa.ts')).tfaStatus,
      },
      {
        name: 'tfa login',
        summary: 'Log in with the second factor; later commands use that session.',
        load: async () => (await import('./commands/tfa.ts')).tfaLogin,
      },
      {
        name: 'tfa logout',
        summary: 'Forget the session of a login with the second factor.',
        load: async () => (await import('./commands/tfa.ts')).tfaLogout,
      },
      {
        name: 'tfa add',
        summary: 'Set up an authenticator app or SMS, step by step.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaAdd,
      },
      {
        name: 'tfa send-code',
        summary: 'Send a code by email or SMS.',
        load: async () => (await import('./commands/tfa.ts')).tfaSendCode,
      },
      {
        name: 'tfa resend',
        summary: 'Send the code of an SMS again.',
        load: async () => (await import('./commands/tfa.ts')).tfaResend,
      },
      {
        name: 'tfa totp-setup',
        summary: 'Make a secret for an authenticator app; it counts once it is confirmed.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaTotpSetup,
      },
      {
        name: 'tfa authorize',
        summary: 'Allow a new method to be added within 30 minutes.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaAuthorize,
      },
      {
        name: 'tfa confirm',
        summary: 'Add a method whose code you have, after tfa authorize.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaConfirm,
      },
      {
        name: 'tfa update',
        summary: 'Name a method, or make it the primary one.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaUpdate,
      },
      {
        name: 'tfa delete',
        summary: 'Remove a method; with the last one the second factor is off.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaDelete,
      },
      {
        name: 'tfa regen-codes',
        summary: 'Replace all backup codes by ten new ones, shown once.',
        load: async () => (await import('./commands/tfa-methods.ts')).tfaRegenCodes,
      },
    ],
  },
  {
    heading: 'Programs and tools',
    entries: [
      {
        name: 'operator',
        summary: 'Run the operator: it rents, watches, replaces and destroys what GpuInstances ask for.',
        load: async () => (await import('./commands/operator.ts')).operatorCommand,
      },
      {
        name: 'endpoint-picker',
        summary: 'Run the gateway of EndpointGroups: hold requests, wake workers, route by load.',
        load: async () => (await import('./commands/endpoint-picker.ts')).endpointPickerCommand,
      },
      {
        name: 'simulator',
        summary: 'Run a whole marketplace on this machine, with time, money and faults.',
        load: async () => (await import('./commands/simulator.ts')).simulatorCommand,
      },
      {
        name: 'api',
        summary: 'Send any call to the marketplace, and print its reply.',
        load: async () => (await import('./commands/api.ts')).apiCommand,
      },
      {
        name: 'completion',
        summary: 'Print the script that completes commands, options and names in a shell.',
        load: async () => (await import('./commands/completion.ts')).completionCommand,
      },
      {
        name: 'completion install',
        summary: 'Write the completion script to where the shell (or kubectl) finds it.',
        load: async () => (await import('./commands/completion.ts')).completionInstall,
      },
      {
        name: 'version',
        summary: 'Show which version this is.',
        load: async () => (await import('./commands/version.ts')).versionCommand,
      },
    ],
  },
];
