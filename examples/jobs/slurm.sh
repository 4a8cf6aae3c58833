#!/bin/bash
# A job of Slurm: sbatch slurm.sh. mpiexec asks Slurm which hosts the job has, and starts as many
# ranks on each as the job has tasks there.
#SBATCH --job-name=heat
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
set -e
cd "${SLURM_SUBMIT_DIR:-.}"
mpiexec ${SLURM_NTASKS:+-n "$SLURM_NTASKS"} ./heat 1000 1000
