import { useMemo } from "react";
import type { PersonRequest } from "../api/types";
import { useView } from "../store/view";

/** Who asks, in the reader's language; a profile that is gone is called as it was when it asked. */
export function useAskers(): (request: PersonRequest) => string | null {
  const profiles = useView((state) => state.profiles);
  return useMemo(() => {
    const names = new Map(profiles?.map((one) => [one.id, one.name]));
    return ({ profile, profile_name }) => names.get(profile ?? "") ?? profile_name;
  }, [profiles]);
}
