obj.spec.powerState = "Stopped"
return obj
