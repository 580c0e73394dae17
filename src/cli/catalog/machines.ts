import type { CatalogGroup } from '../catalog-entry.ts';

export const MACHINES: CatalogGroup = {
  heading: 'Machines at the marketplace',
  entries: [
    {
      name: 'search offers',
      summary: 'Find machines for rent.',
      aliases: ['search offer'],
      load: async () => (await import('../commands/search-offers.ts')).searchOffers,
    },
    {
      name: 'create instance',
      summary: 'Rent an offer as a machine.',
      load: async () => (await import('../commands/create-instance.ts')).createInstance,
    },
    {
      name: 'list instances',
      summary: 'Show the machines that the login rents.',
      aliases: ['list instance', 'show instances', 'get instances'],
      load: async () => (await import('../commands/list-instances.ts')).listInstances,
    },
    {
      name: 'show instance',
      summary: 'Show one rented machine.',
      aliases: ['get instance'],
      load: async () => (await import('../commands/show-instance.ts')).showInstance,
    },
    {
      name: 'start instance',
      summary: 'Start stopped machines.',
      aliases: ['start instances'],
      load: async () => (await import('../commands/start-instance.ts')).startInstance,
    },
    {
      name: 'stop instance',
      summary: 'Stop machines: the GPU is free, the disk still bills.',
      aliases: ['stop instances'],
      load: async () => (await import('../commands/stop-instance.ts')).stopInstance,
    },
    {
      name: 'reboot instance',
      summary: 'Restart the container; its disk stays.',
      aliases: ['reboot instances'],
      load: async () => (await import('../commands/reboot-instance.ts')).rebootInstance,
    },
    {
      name: 'recycle instance',
      summary: 'Make the container anew from its image.',
      aliases: ['recycle instances'],
      load: async () => (await import('../commands/recycle-instance.ts')).recycleInstance,
    },
    {
      name: 'label instance',
      summary: 'Give a machine another label; an empty one takes it away.',
      load: async () => (await import('../commands/label-instance.ts')).labelInstance,
    },
    {
      name: 'change bid',
      summary: 'Change the bid of an interruptible machine.',
      load: async () => (await import('../commands/change-bid.ts')).changeBid,
    },
    {
      name: 'destroy instance',
      summary: 'Destroy machines with everything on them; billing ends.',
      aliases: ['destroy instances'],
      load: async () => (await import('../commands/destroy-instance.ts')).destroyInstance,
    },
  ],
};
