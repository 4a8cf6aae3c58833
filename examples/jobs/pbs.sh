#!/bin/bash
# A job of PBS: qsub pbs.sh. mpiexec reads the hosts of the job from PBS_NODEFILE, and starts a
# rank for each line.
#PBS -N heat
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l walltime=00:10:00
set -e
cd "${PBS_O_WORKDIR:-.}"
mpiexec ./heat 1000 1000
